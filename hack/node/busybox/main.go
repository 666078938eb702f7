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

// Command busybox implements those parts of BusyBox that the samples of workloads and tests need, as a static program: the image of that name
// has it as /bin/busybox and as /bin/<part>. There is one difference: it exits at once on SIGTERM, where the
// real one as process 1 waits for SIGKILL.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// terminated is the exit code of a program that was ended by SIGTERM.
const terminated = 128 + int(syscall.SIGTERM)

func main() {
	go func() {
		ends := make(chan os.Signal, 1)
		signal.Notify(ends, syscall.SIGTERM, syscall.SIGINT)
		<-ends
		os.Exit(terminated)
	}()
	args := os.Args
	if filepath.Base(args[0]) == "busybox" {
		args = args[1:]
	}
	if len(args) == 0 {
		args = []string{"sh"}
	}
	if err := run(filepath.Base(args[0]), args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", args[0], err)
		os.Exit(1)
	}
}

func run(part string, args []string, out io.Writer) error {
	switch part {
	case "echo":
		_, err := fmt.Fprintln(out, strings.Join(args, " "))
		return err
	case "sh":
		return shell(args, out)
	case "exit":
		return exit(args)
	case "touch":
		return touch(args)
	case "rm":
		return remove(args)
	case "tail":
		return tail(args)
	case "cat":
		return cat(args, out)
	case "sleep":
		return sleep(args)
	}
	return fmt.Errorf("not implemented; there are cat, echo, exit, rm, sh, sleep, tail and touch")
}

// shell runs commands that are separated by semicolons, one after the other, and returns the error of the last one.
func shell(args []string, out io.Writer) (err error) {
	if len(args) != 2 || args[0] != "-c" {
		return errors.New("only -c is implemented, with commands that are separated by semicolons")
	}
	for _, command := range strings.Split(args[1], ";") {
		words := strings.Fields(command)
		if len(words) == 0 {
			return errors.New("a command is missing")
		}
		err = run(words[0], words[1:], out)
	}
	return err
}

func exit(args []string) error {
	if len(args) != 1 {
		return errors.New("the exit code is missing")
	}
	code, err := strconv.Atoi(args[0])
	if err == nil {
		os.Exit(code)
	}
	return err
}

func touch(files []string) error {
	for _, name := range files {
		file, err := os.OpenFile(name, os.O_CREATE, 0o644)
		if err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}

func remove(files []string) error {
	for _, name := range files {
		if err := os.Remove(name); err != nil {
			return err
		}
	}
	return nil
}

// tail reads a file that has no lines into memory: with /dev/zero until there is none left.
func tail(args []string) error {
	if len(args) != 1 {
		return errors.New("only one file is implemented")
	}
	_, err := os.ReadFile(args[0])
	return err
}

func cat(files []string, out io.Writer) error {
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return nil
}

// sleep waits for the sum of its arguments, in seconds unless they have a unit.
func sleep(args []string) error {
	var total time.Duration
	for _, arg := range args {
		if arg == "infinity" || arg == "inf" {
			select {}
		}
		if _, err := strconv.ParseFloat(arg, 64); err == nil {
			arg += "s"
		}
		span, err := time.ParseDuration(arg)
		if err != nil {
			return fmt.Errorf("invalid time interval: %w", err)
		}
		total += span
	}
	time.Sleep(total)
	return nil
}
