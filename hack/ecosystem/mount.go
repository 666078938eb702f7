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
	"fmt"
	"os"
	"path/filepath"
)

const (
	// current is the link to the folder with what a mounted Secret has now.
	current = "..data"
	// pending is that link until it replaces the one before.
	pending = "..data_tmp"
)

// mount is a folder with what a Secret has, as the kubelet keeps it for a pod: each version is a folder of its own, and a link to the newest
// is replaced at once.
type mount string

// follow writes a newer version of the Secret.
func (m mount) follow(data map[string][]byte) error {
	version, err := os.MkdirTemp(string(m), "..version-")
	if err != nil {
		return fmt.Errorf("mounting a Secret: %w", err)
	}
	for name, content := range data {
		if err := os.WriteFile(filepath.Join(version, name), content, 0o600); err != nil {
			return fmt.Errorf("mounting a Secret: %w", err)
		}
	}
	before, _ := os.Readlink(m.path(current)) // none at first
	if err := os.Symlink(filepath.Base(version), m.path(pending)); err != nil {
		return fmt.Errorf("mounting a Secret: %w", err)
	}
	if err := os.Rename(m.path(pending), m.path(current)); err != nil {
		return fmt.Errorf("mounting a Secret: %w", err)
	}
	if before != "" {
		return os.RemoveAll(m.path(before))
	}
	for name := range data {
		if err := os.Symlink(filepath.Join(current, name), m.path(name)); err != nil {
			return fmt.Errorf("mounting a Secret: %w", err)
		}
	}
	return nil
}

func (m mount) path(name string) string { return filepath.Join(string(m), name) }
