/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/
// Command page builds the page of kubectl altershield dashboard from its sources: esbuild bundles them, Node isn't needed. The bundle is
package browser

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

const releaseOfWeb = "/w/shop/Deployment/web"

// TestImages takes the pictures of the documents: make page-images.
func TestImages(t *testing.T) {
	folder := os.Getenv("PAGE_IMAGES")
	if folder == "" {
		t.Skip("the variable PAGE_IMAGES names no folder for the pictures")
	}
	for _, picture := range []struct {
		name, language string
		look           look
		height         int64
		readOnly       bool
	}{
		{"dashboard-light-en", "en", look{}, 900, true},
		{"dashboard-dark-en", "en", look{dark: true}, 900, true},
		{"dashboard-light-zh", "zh", look{}, 900, true},
		{"dashboard-dark-zh", "zh", look{dark: true}, 900, true},
		{"release-light-en", "en", look{route: releaseOfWeb}, 1200, false},
		{"release-dark-en", "en", look{route: releaseOfWeb, dark: true}, 1200, false},
		{"release-light-zh", "zh", look{route: releaseOfWeb}, 1200, false},
		{"release-dark-zh", "zh", look{route: releaseOfWeb, dark: true}, 1200, false},
		{"delivery-light-en", "en", look{route: "/dora"}, 700, true},
		{"calendar-light-en", "en", look{route: "/calendar"}, 640, true},
	} {
		t.Run(picture.name, func(t *testing.T) {
			of := serve(t, shop(), answers(picture.readOnly))
			of.answers["session"] = with(of.answers["session"].(object), object{"language": picture.language})
			picture.look.width, picture.look.height = 1160, picture.height
			page := open(t, of, picture.look)
			page.settled()
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			image, err := chromedp.Run(page.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, picture.name+".png"), image, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}
