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
package browser

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
			of.change("session", object{"language": picture.language})
			picture.look.width, picture.look.height = 1160, picture.height
			page := open(t, of, picture.look)
			page.settled()
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			taken, err := chromedp.Run(page.ctx, chromedp.CaptureScreenshot())
			if err != nil {
				t.Fatal(err)
			}
			small, err := smaller(taken)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, picture.name+".png"), small, 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// smaller returns a picture with 256 of its colours: the page has few, and the edges of letters.
func smaller(content []byte) ([]byte, error) {
	taken, err := png.Decode(bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("reading the picture: %w", err)
	}
	counts := map[color.Color]int{}
	for y := range taken.Bounds().Dy() {
		for x := range taken.Bounds().Dx() {
			counts[taken.At(x, y)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	reduced := image.NewPaletted(taken.Bounds(), paletteOf(frequent))
	draw.Draw(reduced, reduced.Bounds(), taken, image.Point{}, draw.Src)
	var encoded bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&encoded, reduced); err != nil {
		return nil, fmt.Errorf("writing the picture: %w", err)
	}
	return encoded.Bytes(), nil
}

// paletteOf returns at most 256 of the colours, frequent ones first, of which those are skipped at first that are like another one: a colour
// of few pixels, such as a small part of a bar, is kept so.
func paletteOf(frequent []color.Color) color.Palette {
	var chosen color.Palette
	for _, distance := range []int{36, 12, 0} {
		for _, next := range frequent {
			isNew := !slices.ContainsFunc(chosen, func(known color.Color) bool { return apart(known, next) <= distance })
			if len(chosen) < 256 && isNew {
				chosen = append(chosen, next)
			}
		}
	}
	return chosen
}

// apart returns how far two colours are apart, at most 765.
func apart(a, b color.Color) int {
	one, other := color.RGBAModel.Convert(a).(color.RGBA), color.RGBAModel.Convert(b).(color.RGBA)
	distance := 0
	for _, pair := range [][2]uint8{{one.R, other.R}, {one.G, other.G}, {one.B, other.B}} {
		distance += max(int(pair[0])-int(pair[1]), int(pair[1])-int(pair[0]))
	}
	return distance
}
