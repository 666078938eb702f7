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

package dashboard

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
)

//go:embed assets
var bundle embed.FS //nolint:gochecknoglobals // the compiler can only fill variables

// asset is a file of the page.
type asset struct {
	body []byte
	kind string
	// isHashed reports whether its name changes with its content.
	isHashed bool
}

// kinds are the types of the files that a page may have. Others are not served.
func kinds() map[string]string {
	return map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
		".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".txt": "text/plain; charset=utf-8",
	}
}

// assetsIn returns the files in the folder assets by their paths. They are read once, so that no path of a request reaches a file system.
func assetsIn(files fs.FS) (map[string]asset, error) {
	hashed := regexp.MustCompile(`-[0-9A-Za-z]{8,}\.`)
	assets := map[string]asset{}
	err := fs.WalkDir(files, "assets", func(name string, entry fs.DirEntry, err error) error {
		kind, known := kinds()[path.Ext(name)]
		if err != nil || entry.IsDir() || !known {
			return err
		}
		body, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		assets[strings.TrimPrefix(name, "assets")] = asset{body, kind, hashed.MatchString(path.Base(name))}
		return nil
	})
	assets["/"] = assets["/index.html"]
	return assets, err
}

// page answers with a file of the page.
func (s *server) page(writer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodGet && request.Method != http.MethodHead {
		writer.Header().Set("Allow", "GET, HEAD")
		refuse(writer, Failure{http.StatusMethodNotAllowed, MethodNotAllowed, "the page is read with GET"})
		return
	}
	found, has := s.assets[request.URL.Path]
	if !has {
		refuse(writer, Failure{http.StatusNotFound, NotFound, "there is no such page"})
		return
	}
	writer.Header().Set("Content-Type", found.kind)
	writer.Header().Set("Cache-Control", "no-cache")
	if found.isHashed {
		writer.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if request.Method == http.MethodGet {
		_, _ = writer.Write(found.body) // the browser is gone otherwise
	}
}
