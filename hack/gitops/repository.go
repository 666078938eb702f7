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
	"context"
	"fmt"
	"io"
	"log"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// serveGit serves the Git repositories in a folder, and returns their URL.
func serveGit(ctx context.Context, folder string) (string, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return "", fmt.Errorf("serving Git repositories: %w", err)
	}
	address, err := lab.ServeHTTP(ctx, &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0), // one that is cut off at the end
		Env: []string{"GIT_PROJECT_ROOT=" + folder, "GIT_HTTP_EXPORT_ALL=1"},
	}, lab.AnyPort, "")
	return "http://" + address, err
}

// repository is an app in Git.
type repository struct {
	*stage
	name, folder string
	// head is the newest commit.
	head string
}

func (r *repository) begin(ctx context.Context) error {
	if err := os.MkdirAll(r.folder, 0o700); err != nil {
		return err
	}
	return r.run(ctx, "init", "--quiet", "--initial-branch=main")
}

// url is the address of the repository.
func (r *repository) url() string { return r.git + "/" + r.name + "/.git" }

// bring commits the version.
func (r *repository) bring(ctx context.Context, next version) error {
	config := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":{"note":%q}}`, r.name, next.note)
	for name, content := range map[string][]byte{"workload.yaml": next.workload, "config.yaml": []byte(config)} {
		if err := os.WriteFile(filepath.Join(r.folder, name), content, 0o600); err != nil {
			return err
		}
	}
	if err := r.run(ctx, "add", "."); err != nil {
		return err
	}
	return r.commit(ctx, next.note)
}

// back reverts the newest commits.
func (r *repository) back(ctx context.Context, versions int) (string, error) {
	reverted := fmt.Sprintf("HEAD~%d..HEAD", versions)
	if err := r.run(ctx, "revert", "--no-commit", reverted); err != nil {
		return "", err
	}
	return "git revert " + reverted, r.commit(ctx, "back")
}

func (r *repository) commit(ctx context.Context, message string) error {
	if err := r.run(ctx, "commit", "--quiet", "--message="+message); err != nil {
		return err
	}
	head, err := os.ReadFile(filepath.Join(r.folder, ".git", "refs", "heads", "main"))
	r.head = strings.TrimSpace(string(head))
	return err
}

func (r *repository) run(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, "git", args...)
	command.Dir = r.folder
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=shop", "GIT_AUTHOR_EMAIL=shop@example.com", "GIT_COMMITTER_NAME=shop", "GIT_COMMITTER_EMAIL=shop@example.com")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("git %v: %w: %s", args, err, output)
	}
	return nil
}
