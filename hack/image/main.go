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

// Command image builds the operator's container image without a container engine: the same image as the Dockerfile, for
// several platforms, as a tarball with an OCI layout or directly into a registry. It runs in the root of the repository.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// options are the images to build and their destination.
type options struct {
	stamp     stamp
	platforms []v1.Platform
	// tag names the image.
	tag name.Reference
	// output is the tarball to write, empty for none.
	output string
	// push pushes to the registry of tag.
	push bool
}

// stamp is the origin of an image.
type stamp struct {
	version, commit string
	// created is the time of everything in the image.
	created time.Time
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, ".", os.Args[1:], os.Getenv, os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run builds the image of the program in the module's folder root.
func run(ctx context.Context, root string, args []string, getenv func(string) string, out io.Writer) error {
	opts, err := parse(args, getenv)
	if err != nil {
		return err
	}
	index, err := build(ctx, root, opts)
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return fmt.Errorf("computing the digest of the image: %w", err)
	}
	if opts.output != "" {
		if err := writeArchive(opts.output, opts.tag, index, opts.stamp.created); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %s %s\n", opts.output, opts.tag, digest)
	}
	if opts.push {
		if err := push(ctx, opts.tag, index); err != nil {
			return err
		}
		fmt.Fprintf(out, "pushed %s %s\n", opts.tag, digest)
	}
	return nil
}

// parse parses the flags. SOURCE_DATE_EPOCH in the environment is the time of everything in the image.
func parse(args []string, getenv func(string) string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("bin/image", flag.ContinueOnError)
	flags.StringVar(&opts.stamp.version, "version", "dev", "version to stamp")
	flags.StringVar(&opts.stamp.commit, "commit", "unknown", "commit to stamp")
	flags.StringVar(&opts.output, "output", "", "tarball to write, an OCI image layout")
	tag := flags.String("tag", "altershield-operator:latest", "`name` of the image in the tarball")
	target := flags.String("push", "", "`name` to push the image to, registry/path:tag; uses the credentials of docker login")
	insecure := flags.Bool("insecure", false, "push over plain HTTP")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "platforms to build for")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q; -h lists the flags", flags.Arg(0))
	}
	opts.push = *target != ""
	if opts.push && opts.output != "" {
		return options{}, errors.New("--output and --push exclude each other")
	}
	if !opts.push && opts.output == "" {
		return options{}, errors.New("--output or --push is required")
	}
	var parsing []name.Option
	if *insecure {
		parsing = append(parsing, name.Insecure)
	}
	if opts.push {
		tag = target
	}
	var err error
	if opts.tag, err = name.NewTag(*tag, parsing...); err != nil {
		return options{}, fmt.Errorf("the name of the image: %w", err)
	}
	if opts.platforms, err = parsePlatforms(*platforms); err != nil {
		return options{}, err
	}
	opts.stamp.created, err = parseEpoch(getenv("SOURCE_DATE_EPOCH"))
	return opts, err
}

func parsePlatforms(list string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for text := range strings.SplitSeq(list, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil || platform.Architecture == "" {
			return nil, fmt.Errorf("--platforms: %q is not a platform, such as linux/amd64", text)
		}
		platforms = append(platforms, *platform)
	}
	return platforms, nil
}

// parseEpoch parses Unix seconds; an empty text is 1970.
func parseEpoch(text string) (time.Time, error) {
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}
