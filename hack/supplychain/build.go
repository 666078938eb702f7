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
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// standardLibrary is the path that vulnerability databases and package URLs name it by.
const standardLibrary = "stdlib"

// build is a program and what it is made of.
type build struct {
	// Path is the import path of the program, Module the one of its module.
	Path, Module string
	// Settings are those of the go command, such as GOOS.
	Settings map[string]string
	// Modules are those with at least one package in the program, the standard library included, by path.
	Modules []module
}

// module is a Go module of a certain version.
type module struct {
	Path, Version string
	// Sum is its hash as go.sum has it; the standard library has none.
	Sum string
	// Root is the folder of its source code, and Dirs are those of the packages in the program.
	Root string
	Dirs []string
	// Imports are the paths of the modules whose packages those packages import.
	Imports []string
}

// listed is what is read of the output of go list.
type listed struct {
	ImportPath, Dir string
	Standard        bool
	Imports         []string
	Module          *struct{ Path, Dir string }
}

// root is the folder of the module that a package is of.
func (l listed) root() string {
	if l.Standard {
		return strings.TrimSuffix(filepath.ToSlash(l.Dir), "/src/"+l.ImportPath)
	}
	return l.Module.Dir
}

// readBuild tells what a Go program is made of: the modules by what the program says of itself, their code by the module cache.
// It must run in the folder of the program's module, with the go.mod that the program was built from.
func readBuild(ctx context.Context, binary string) (build, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return build{}, fmt.Errorf("reading what %s is built from: %w", binary, err)
	}
	made := build{Path: info.Path, Module: info.Main.Path, Settings: map[string]string{"GOVERSION": info.GoVersion}}
	for _, setting := range info.Settings {
		made.Settings[setting.Key] = setting.Value
	}
	packages, err := goList(ctx, made)
	if err != nil {
		return build{}, err
	}
	made.Modules, err = modulesOf(info, packages)
	if err != nil {
		return build{}, fmt.Errorf("%s: %w", binary, err)
	}
	return made, nil
}

// goList lists the packages of a program for the platform that it was built for.
func goList(ctx context.Context, made build) ([]listed, error) {
	command := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,Standard,Imports,Module",
		"-tags="+made.Settings["-tags"], made.Path)
	command.Env = os.Environ()
	for _, key := range []string{"GOOS", "GOARCH", "CGO_ENABLED"} {
		command.Env = append(command.Env, key+"="+made.Settings[key])
	}
	var problems bytes.Buffer
	command.Stderr = &problems
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s: %w: %s", made.Path, err, strings.TrimSpace(problems.String()))
	}
	var packages []listed
	decoder := json.NewDecoder(bytes.NewReader(output))
	for {
		var found listed
		err := decoder.Decode(&found)
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing the packages of %s: %w", made.Path, err)
		}
		packages = append(packages, found)
	}
}

// modulesOf puts the packages of a program to the modules that it says it is made of. The error says where they don't agree.
func modulesOf(info *debug.BuildInfo, packages []listed) ([]module, error) {
	found := map[string]*module{standardLibrary: {Path: standardLibrary, Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, dependency := range info.Deps {
		actual := dependency
		if dependency.Replace != nil {
			actual = dependency.Replace
		}
		found[dependency.Path] = &module{Path: actual.Path, Version: actual.Version, Sum: actual.Sum}
	}
	home := map[string]string{} // of each package
	for _, each := range packages {
		path := standardLibrary
		if !each.Standard {
			path = each.Module.Path
		}
		home[each.ImportPath] = path
		if path == info.Main.Path {
			continue
		}
		known := found[path]
		if known == nil {
			return nil, fmt.Errorf("go.mod needs %s for %s, and the program was built without it: build it again", path, each.ImportPath)
		}
		known.Dirs = append(known.Dirs, each.Dir)
		known.Root = each.root()
	}
	for _, each := range packages {
		owner := found[home[each.ImportPath]]
		for _, imported := range each.Imports {
			if owner != nil && home[imported] != "" && home[imported] != home[each.ImportPath] {
				owner.Imports = append(owner.Imports, home[imported])
			}
		}
	}
	return sortedModules(found)
}

func sortedModules(found map[string]*module) ([]module, error) {
	var modules []module
	for _, each := range slices.SortedFunc(maps.Values(found), func(a, b *module) int { return cmp.Compare(a.Path, b.Path) }) {
		if len(each.Dirs) == 0 {
			return nil, fmt.Errorf("the program was built with %s, and go.mod doesn't need it: build it again", each.Path)
		}
		slices.Sort(each.Imports)
		each.Imports = slices.Compact(each.Imports)
		modules = append(modules, *each)
	}
	return modules, nil
}
