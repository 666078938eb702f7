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

// Command argocd is a part of Argo CD, as its first argument says: application-controller, repo-server, or redis, which is one in memory. As health it prints the health
// of an object on the standard input, by the health checks in the file of a ConfigMap argocd-cm.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	reposerver "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs a part with its flags.
func run(args []string) error {
	if len(args) == 0 {
		return errors.New("which part of Argo CD?")
	}
	switch part, flags := args[0], args[1:]; part {
	case "application-controller":
		return execute(controller.NewCommand(), flags)
	case "repo-server":
		return execute(reposerver.NewCommand(), flags)
	case "redis":
		return redis(flags)
	case "health":
		return assess(flags)
	default:
		return fmt.Errorf("%s is no part of Argo CD", part)
	}
}

func execute(command *cobra.Command, flags []string) error {
	command.SetArgs(flags)
	return command.Execute()
}

// redis serves a Redis in memory, in which Argo CD keeps what it can compute again.
func redis(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server := miniredis.NewMiniRedis()
	if err := server.StartAddr(args[0]); err != nil {
		return err
	}
	defer server.Close()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-second.C:
			server.FastForward(time.Second) // nothing expires by itself
		}
	}
}

// assess prints the health of an object. The file has the health checks.
func assess(args []string) error {
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	var settings struct{ Data map[string]string }
	if err := yaml.Unmarshal(content, &settings); err != nil {
		return err
	}
	checks := lua.ResourceHealthOverrides{}
	for key, check := range settings.Data {
		kind := strings.Replace(strings.TrimPrefix(key, "resource.customizations.health."), "_", "/", 1)
		checks[kind] = v1alpha1.ResourceOverride{HealthLua: check}
	}
	object := &unstructured.Unstructured{}
	if content, err = io.ReadAll(os.Stdin); err == nil {
		err = object.UnmarshalJSON(content)
	}
	if err != nil {
		return err
	}
	assessed, err := health.GetResourceHealth(object, checks)
	if err != nil || assessed == nil {
		return err
	}
	_, err = fmt.Printf("%s: %s\n", assessed.Status, assessed.Message)
	return err
}
