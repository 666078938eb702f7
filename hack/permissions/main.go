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

// Command permissions writes the page that lists every permission of the operator with its reason. It reads the manifests of
// an installation from its standard input, and the reasons from the given files and folders with code and manifests.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

type options struct {
	account types.NamespacedName
	prefix  string
	out     string
	dirs    []string
}

func main() {
	var opts options
	flag.StringVar(&opts.account.Namespace, "namespace", "altershieldoperator-system", "Namespace of the operator's ServiceAccount.")
	flag.StringVar(&opts.account.Name, "service-account", "altershieldoperator-controller-manager", "Name of the operator's ServiceAccount.")
	flag.StringVar(&opts.prefix, "prefix", "altershieldoperator-", "Prefix that kustomize adds to the names of roles.")
	flag.StringVar(&opts.out, "out", "", "File to write.")
	flag.Parse()
	opts.dirs = flag.Args()
	if err := run(opts, os.Stdin); err != nil {
		fmt.Fprintf(os.Stderr, "permissions: %v\n", err)
		os.Exit(1)
	}
}

func run(opts options, manifests io.Reader) error {
	objects, err := grant.Decode(manifests)
	if err != nil {
		return err
	}
	var reasons []reason
	for _, dir := range opts.dirs {
		found, err := readReasons(os.DirFS(dir))
		if err != nil {
			return err
		}
		for _, reason := range found {
			reason.File = filepath.ToSlash(filepath.Join(dir, reason.File))
			reasons = append(reasons, reason)
		}
	}
	text, err := write(objects, reasons, opts.account, opts.prefix)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(opts.out), 0o755); err != nil {
		return err
	}
	return os.WriteFile(opts.out, []byte(text), 0o644)
}

// write returns the page, or an error with all permissions without a reason and other problems.
func write(objects grant.Objects, reasons []reason, account types.NamespacedName, prefix string) (string, error) {
	own, others := objects.Of(account), objects.Others(account)
	if len(own) == 0 {
		return "", fmt.Errorf("the manifests grant ServiceAccount %s no permission: is that its name?", account)
	}
	rows, problems := explain(append(own, others...), reasons, prefix)
	problems = append(problems, grant.Twice(own)...)
	if len(problems) > 0 {
		return "", errors.New("the permissions in config/rbac don't match the comments about them:\n  " + strings.Join(problems, "\n  "))
	}
	return page(account, rows[:len(own)], rows[len(own):]), nil
}
