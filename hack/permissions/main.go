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
	"path"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

// options are what is explained, and where.
type options struct {
	account types.NamespacedName
	// prefix is what kustomize adds to the names of roles.
	prefix string
	out    string
	dirs   []string
}

func main() {
	opts := options{
		account: types.NamespacedName{Namespace: "altershieldoperator-system", Name: "altershieldoperator-controller-manager"},
		prefix:  "altershieldoperator-",
	}
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

const intro = `<!-- Made by make generate from the manifests and from the comments above their rules. Don't edit. -->
# Permissions

This page lists every permission of the operator's ServiceAccount ` + "`%s`" + `, with its purpose.
There are no others: ` + "`make verify`" + ` fails if a permission has no reason, or a reason no permission. ` + "`make test`" + ` fails
if the API server answers the operator with 403, ` + "`make test-full`" + ` if the operator never uses a permission. The few permissions
that may remain unused are listed with their reasons in ` + "`hack/permissions/audit`" + `.

In addition, the operator asks the API server once for its own user name, as every user may.
`

const othersIntro = `
## Roles for others

These roles are installed with the operator, which doesn't use them. The roles ` + "`uninstall`" + ` are those of the Helm chart's
pre-delete hook and exist only while a release is uninstalled.
`

// page returns the page with the permissions of a ServiceAccount, and those of the installation's other roles.
func page(account types.NamespacedName, own, others []explained) string {
	var text strings.Builder
	fmt.Fprintf(&text, intro, account)
	for _, namespace := range namespaces(own) {
		rows := slices.DeleteFunc(slices.Clone(own), func(row explained) bool { return row.Namespace != namespace })
		title := "In the whole cluster"
		if namespace != "" {
			title = fmt.Sprintf("In the namespace `%s` only", namespace)
		}
		fmt.Fprintf(&text, "\n## %s\n\nGranted by %s.\n\n", title, roles(rows))
		text.WriteString("| API group | Resource | Verb | Purpose |\n|---|---|---|---|\n")
		for _, row := range rows {
			fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", group(row.Permission), object(row.Permission), row.Verb, why(row.Reasons))
		}
	}
	if len(others) > 0 {
		text.WriteString(othersIntro + "\n| Role | API group | Resource | Verb | Purpose |\n|---|---|---|---|---|\n")
	}
	for _, row := range others {
		fmt.Fprintf(&text, "| %s `%s` | %s | %s | %s | %s |\n", row.Role.Kind, row.Role.Name, group(row.Permission), object(row.Permission), row.Verb, why(row.Reasons))
	}
	return text.String()
}

// namespaces returns the namespaces of the grants, sorted, so that "" for all comes first.
func namespaces(rows []explained) []string {
	var found []string
	for _, row := range rows {
		found = append(found, row.Namespace)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func roles(rows []explained) string {
	var found []string
	for _, row := range rows {
		found = append(found, fmt.Sprintf("%s `%s`", row.Role.Kind, row.Role.Name))
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " and ")
}

func group(permission grant.Permission) string {
	switch {
	case permission.URL != "":
		return ""
	case permission.Group == "":
		return "core"
	}
	return permission.Group
}

func object(permission grant.Permission) string {
	switch {
	case permission.URL != "":
		return "`" + permission.URL + "`"
	case permission.Name != "":
		return fmt.Sprintf("%s, only `%s`", permission.Resource, permission.Name)
	}
	return permission.Resource
}

// why joins the reasons, those of the code with their package.
func why(reasons []reason) string {
	var texts []string
	for _, reason := range reasons {
		text := strings.ReplaceAll(reason.Text, "|", `\|`)
		if path.Ext(reason.File) == ".go" {
			text = fmt.Sprintf("`%s`: %s", path.Dir(reason.File), text)
		}
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "<br>")
}
