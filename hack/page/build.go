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
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// budget is the most bytes that JavaScript and CSS may have, compressed.
const budget = 60_000

// vendored are the packages that are linked into the bundle, whose licences go with it.
func vendored() []string { return []string{"preact", "@preact/signals", "@preact/signals-core"} }

// build returns the files of the bundle by name. Those with a hash in their names never change, so that browsers may keep them.
func build(folder string) (map[string][]byte, error) {
	files := map[string][]byte{}
	names := map[string]string{}
	for _, part := range []struct{ entry, name string }{{"src/main.tsx", "app.js"}, {"src/style.css", "app.css"}} {
		content, err := bundle(folder, part.entry)
		if err != nil {
			return nil, err
		}
		names[part.name] = hashed(part.name, content)
		files[names[part.name]] = content
	}
	icon, err := os.ReadFile(filepath.Join(folder, "icon.svg"))
	if err != nil {
		return nil, fmt.Errorf("reading the icon: %w", err)
	}
	names["icon.svg"] = hashed("icon.svg", icon)
	files[names["icon.svg"]] = icon
	index, err := os.ReadFile(filepath.Join(folder, "index.html"))
	if err != nil {
		return nil, fmt.Errorf("reading the index: %w", err)
	}
	for name, as := range names {
		if !bytes.Contains(index, []byte(`"`+name+`"`)) {
			return nil, fmt.Errorf("index.html doesn't name %s", name)
		}
		index = bytes.ReplaceAll(index, []byte(`"`+name+`"`), []byte(`"`+as+`"`))
	}
	files["index.html"] = index
	files["licenses.txt"], err = licences(folder)
	return files, err
}

func bundle(folder, entry string) ([]byte, error) {
	root, err := filepath.Abs(folder)
	if err != nil {
		return nil, fmt.Errorf("finding %s: %w", folder, err)
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root, EntryPoints: []string{entry}, NodePaths: []string{filepath.Join(root, "vendor")}, Outdir: filepath.Join(root, "out"),
		Bundle: true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true, Charset: api.CharsetUTF8,
		Format: api.FormatESModule, Platform: api.PlatformBrowser, Target: api.ES2022, LegalComments: api.LegalCommentsNone,
		JSX: api.JSXAutomatic, JSXImportSource: "preact", Banner: map[string]string{"js": "/* Preact and its signals: MIT, see licenses.txt */"},
	})
	var failures []error
	for _, message := range slices.Concat(result.Errors, result.Warnings) {
		place := ""
		if message.Location != nil {
			place = fmt.Sprintf("%s:%d: ", message.Location.File, message.Location.Line)
		}
		failures = append(failures, errors.New(place+message.Text))
	}
	if len(failures) > 0 {
		return nil, fmt.Errorf("bundling %s: %w", entry, errors.Join(failures...))
	}
	if len(result.OutputFiles) != 1 {
		return nil, fmt.Errorf("bundling %s gave %d files, not one", entry, len(result.OutputFiles))
	}
	return result.OutputFiles[0].Contents, nil
}

func hashed(name string, content []byte) string {
	extension := filepath.Ext(name)
	sum := sha256.Sum256(content)
	return fmt.Sprintf("%s-%x%s", strings.TrimSuffix(name, extension), sum[:5], extension)
}

func licences(folder string) ([]byte, error) {
	var text bytes.Buffer
	for _, name := range vendored() {
		licence, err := os.ReadFile(filepath.Join(folder, "vendor", name, "LICENSE"))
		if err != nil {
			return nil, fmt.Errorf("reading the licence of %s: %w", name, err)
		}
		fmt.Fprintf(&text, "%s\n\n%s\n", name, licence)
	}
	return text.Bytes(), nil
}

// weigh returns the compressed size of JavaScript and CSS, or an error if it is above the budget.
func weigh(files map[string][]byte) (int, error) {
	size := 0
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if extension := filepath.Ext(name); extension != ".js" && extension != ".css" {
			continue
		}
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		if _, err := writer.Write(files[name]); err != nil {
			return 0, fmt.Errorf("compressing %s: %w", name, err)
		}
		if err := writer.Close(); err != nil {
			return 0, fmt.Errorf("compressing %s: %w", name, err)
		}
		size += packed.Len()
	}
	if size > budget {
		return 0, fmt.Errorf("JavaScript and CSS have %d bytes compressed, above the budget of %d", size, budget)
	}
	return size, nil
}

// sentencesOfDoctor returns a TypeScript file with the sentences of doctor and about missing rights: the JSON of doctor names symptoms, and
// package render has their sentences.
func sentencesOfDoctor(render string) ([]byte, error) {
	var file bytes.Buffer
	file.WriteString("// Code generated by hack/page from package render. DO NOT EDIT.\n\n")
	file.WriteString("// Sentences by topic, symptom and lack. %s stands for a value.\nexport const symptoms: Record<\"en\" | \"zh\", Record<string, string>> = {\n")
	for _, language := range []struct{ name, file string }{{"en", "english.go"}, {"zh", "chinese.go"}} {
		sentences, err := sentencesOf(filepath.Join(render, language.file))
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&file, "  %s: {\n", language.name)
		for _, key := range slices.Sorted(maps.Keys(sentences)) {
			fmt.Fprintf(&file, "    %q: %q,\n", key, sentences[key])
		}
		file.WriteString("  },\n")
	}
	file.WriteString("};\n")
	return file.Bytes(), nil
}

func sentencesOf(path string) (map[string]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, fmt.Errorf("parsing the sentences of the plugin: %w", err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		pair, isPair := node.(*ast.KeyValueExpr)
		if !isPair {
			return true
		}
		key, isText := textOf(pair.Key)
		value, isSentence := textOf(pair.Value)
		prefix, _, _ := strings.Cut(key, ".")
		if isText && isSentence && slices.Contains([]string{"symptom", "topic", "lack"}, prefix) {
			found[key] = value
		}
		return true
	})
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no sentence about a symptom", path)
	}
	return found, nil
}

func textOf(expression ast.Expr) (string, bool) {
	literal, isLiteral := expression.(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(literal.Value)
	return text, err == nil
}
