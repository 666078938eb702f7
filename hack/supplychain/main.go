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

// Command supplychain tells what a Go program is made of: it checks the licences of the modules that are linked into it
// (licenses) and writes its bill of materials in the format of CycloneDX (sbom). Run it in the folder of the program's module.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "supplychain: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("say what to do: licenses or sbom")
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	binary := flags.String("binary", "bin/manager", "The program.")
	file := flags.String("out", "", "File to write.")
	switch args[0] {
	case "licenses":
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return licenses(ctx, *binary, *file, out)
	case "sbom":
		var stamp program
		flags.StringVar(&stamp.Version, "version", "dev", "Version of the program.")
		flags.StringVar(&stamp.Commit, "commit", "unknown", "Commit that the program is built from.")
		flags.Func("date", "When the source code was committed, in seconds since 1970.", stamp.setDate)
		if err := flags.Parse(args[1:]); err != nil {
			return err
		}
		return sbom(ctx, *binary, *file, stamp)
	}
	return fmt.Errorf("unknown command %q: licenses or sbom", args[0])
}

// licenses prints the licences of a program's modules and writes their texts. The error says what may not be shipped.
func licenses(ctx context.Context, binary, file string, out io.Writer) error {
	_, modules, err := inspect(ctx, binary)
	if err != nil {
		return err
	}
	if err := printLicences(out, modules); err != nil {
		return err
	}
	if problems := judge(modules); len(problems) > 0 {
		return errors.New("not every module may be shipped:\n  " + strings.Join(problems, "\n  "))
	}
	return os.WriteFile(file, []byte(notices(modules)), 0o644)
}

// sbom writes the bill of materials of a program.
func sbom(ctx context.Context, binary, file string, stamp program) error {
	made, modules, err := inspect(ctx, binary)
	if err != nil {
		return err
	}
	if err := stamp.read(binary); err != nil {
		return err
	}
	var text bytes.Buffer
	if err := writeBOM(&text, newBOM(stamp, made, modules)); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

func inspect(ctx context.Context, binary string) (build, []licensed, error) {
	made, err := readBuild(ctx, binary)
	if err != nil {
		return build{}, nil, err
	}
	modules, err := recognise(made.Modules)
	return made, modules, err
}

func (p *program) setDate(text string) error {
	if text == "" { // a work tree without history
		return nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return errors.New("it must be a number of seconds")
	}
	p.Date = time.Unix(seconds, 0)
	return nil
}

// read reads what the program's files tell.
func (p *program) read(binary string) error {
	content, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	p.Hash = hex.EncodeToString(sum[:])
	own, err := recognise([]module{{Root: ".", Dirs: []string{"."}}})
	if err != nil {
		return err
	}
	p.Licences = own[0].names()
	return nil
}
