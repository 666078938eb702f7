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

package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/process"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

// programGrace is how long a program may take to exit.
const programGrace = 30 * time.Second

// Start starts a program beside the operator. Close stops it.
func (l *Lab) Start(name string, argv []string, env ...string) error {
	started, err := process.Start(process.Spec{Dir: l.dir, Name: name, Argv: argv, Env: env})
	if err == nil {
		l.programs = append(l.programs, started)
	}
	return err
}

// Ended returns an error if one of these programs, or the operator, has ended.
func (l *Lab) Ended() error {
	for _, program := range l.programs {
		if err := program.Ended(); err != nil {
			return err
		}
	}
	if l.Operator == nil {
		return nil
	}
	return l.Operator.Ended()
}

// Apply applies YAML as an administrator. The webhooks in it are called at the endpoint.
func (l *Lab) Apply(ctx context.Context, content []byte, webhooks cluster.WebhookEndpoint) error {
	objects, err := manifests.Decode(bytes.NewReader(content))
	if err != nil {
		return err
	}
	return l.Plane.Apply(ctx, objects, webhooks)
}

// Declare puts the KubernetesClusters of the samples under control.
func (l *Lab) Declare(ctx context.Context) error {
	for _, file := range []string{"config/samples/kubernetescluster/crd.yaml", "config/samples/kinds/kubernetescluster.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("declaring a kind (run this at the root of the repository): %w", err)
		}
		if err := l.Apply(ctx, bytes.ReplaceAll(content, []byte("mode: Observe"), []byte("mode: Enforce")), cluster.WebhookEndpoint{}); err != nil {
			return err
		}
	}
	return nil
}
