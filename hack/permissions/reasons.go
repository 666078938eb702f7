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
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	k8syaml "sigs.k8s.io/yaml"

	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

const (
	marker = "+kubebuilder:rbac:"
	// markedRole is the role that controller-gen generates from markers without a role of their own.
	markedRole = "manager-role"
)

// reason is the reason why a role grants a permission.
type reason struct {
	grant.Permission
	Role grant.Role
	// Text is one or more sentences.
	Text string
	// File is the file with the text, relative to the root of the repository.
	File string
}

// readReasons reads the reasons in the Go files (the comment above the markers of a permission) and in the manifests (the
// comment above a rule, or else above its role) of a file tree.
func readReasons(tree fs.FS) ([]reason, error) {
	var found []reason
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		read := map[string]func(string, []byte) ([]reason, error){".go": ofMarkers, ".yaml": ofManifests}[filepath.Ext(path)]
		if read == nil || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		content, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		reasons, err := read(path, content)
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		found = append(found, reasons...)
		return nil
	})
	return found, err
}

// ofMarkers reads the markers in a Go file. Consecutive markers share the text above them.
func ofMarkers(path string, content []byte) ([]reason, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []reason
	for _, group := range file.Comments {
		var text []string
		closed := false // a marker ends the text above it
		for _, comment := range group.List {
			line := strings.TrimSpace(strings.TrimPrefix(comment.Text, "//"))
			if !strings.HasPrefix(line, marker) {
				if closed {
					text, closed = nil, false
				}
				text = append(text, line)
				continue
			}
			closed = true
			role, rule, err := parseMarker(strings.TrimPrefix(line, marker))
			if err != nil {
				return nil, fmt.Errorf("marker %q: %w", line, err)
			}
			if len(text) == 0 {
				return nil, fmt.Errorf("marker %q: explain the purpose of the permission in a comment above it", line)
			}
			for _, permission := range grant.Permissions(rule) {
				found = append(found, reason{permission, role, strings.Join(text, " "), path})
			}
		}
	}
	return found, nil
}

// parseMarker parses the arguments of a marker, such as groups=apps,resources=deployments,verbs=get;list.
func parseMarker(arguments string) (grant.Role, rbacv1.PolicyRule, error) {
	role, rule := grant.Role{Kind: "ClusterRole", Name: markedRole}, rbacv1.PolicyRule{}
	for argument := range strings.SplitSeq(arguments, ",") {
		key, value, _ := strings.Cut(argument, "=")
		values := strings.Split(strings.Trim(value, `"`), ";")
		switch key {
		case "groups":
			rule.APIGroups = values
		case "resources":
			rule.Resources = values
		case "resourceNames":
			rule.ResourceNames = values
		case "verbs":
			rule.Verbs = values
		case "urls":
			rule.NonResourceURLs = values
		case "namespace":
			role.Kind = "Role"
		case "roleName":
			role.Name = values[0]
		default:
			return role, rule, fmt.Errorf("unknown argument %q", argument)
		}
	}
	if len(grant.Permissions(rule)) == 0 {
		return role, rule, errors.New("it grants no permission")
	}
	return role, rule, nil
}

// manifest is the part of a role that is read.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Rules    []yaml.Node
}

// ofManifests reads the roles in a YAML file. A role without any comment has its reasons elsewhere.
func ofManifests(path string, content []byte) ([]reason, error) {
	var found []reason
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		var object manifest
		if err == nil {
			err = document.Decode(&object)
		}
		if err != nil {
			return nil, err
		}
		if object.Kind != "ClusterRole" && object.Kind != "Role" {
			continue
		}
		for _, node := range object.Rules {
			text := commentOf(&node)
			if text == "" {
				text = commentOf(&document)
			}
			if text == "" {
				continue
			}
			rule, err := ruleOf(&node)
			if err != nil {
				return nil, err
			}
			for _, permission := range grant.Permissions(rule) {
				found = append(found, reason{permission, grant.Role{Kind: object.Kind, Name: object.Metadata.Name}, text, path})
			}
		}
	}
}

// commentOf returns the comment above a node: the parser attaches it to the node, or to the first node in it.
func commentOf(node *yaml.Node) string {
	var lines []string
	for ; ; node = node.Content[0] {
		for line := range strings.Lines(node.HeadComment) {
			lines = append(lines, strings.TrimSpace(strings.TrimPrefix(line, "#")))
		}
		if len(node.Content) == 0 {
			return strings.TrimSpace(strings.Join(lines, " "))
		}
	}
}

func ruleOf(node *yaml.Node) (rule rbacv1.PolicyRule, err error) {
	content, err := yaml.Marshal(node)
	if err == nil {
		err = k8syaml.Unmarshal(content, &rule)
	}
	return rule, err
}

// explained is a grant with its reasons.
type explained struct {
	grant.Grant
	Reasons []reason
}

// explain joins grants with their reasons. The problems are grants without a reason, and reasons without a grant.
// Names of roles are compared without the prefix that kustomize adds.
func explain(granted []grant.Grant, reasons []reason, prefix string) (rows []explained, problems []string) {
	used := make([]bool, len(reasons))
	for _, given := range granted {
		row := explained{Grant: given}
		role := grant.Role{Kind: given.Role.Kind, Name: strings.TrimPrefix(given.Role.Name, prefix)}
		for i, candidate := range reasons {
			if candidate.Role.Kind == role.Kind && strings.TrimPrefix(candidate.Role.Name, prefix) == role.Name && candidate.Permission == given.Permission {
				used[i] = true
				row.Reasons = append(row.Reasons, candidate)
			}
		}
		if len(row.Reasons) == 0 {
			problems = append(problems, fmt.Sprintf("%s is granted without a reason in a comment", given))
		}
		rows = append(rows, row)
	}
	for i, candidate := range reasons {
		if !used[i] {
			problems = append(problems, fmt.Sprintf("%s explains why %s grants %s, which it doesn't", candidate.File, candidate.Role, candidate.Permission))
		}
	}
	slices.Sort(problems)
	return rows, slices.Compact(problems)
}
