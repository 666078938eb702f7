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
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

const (
	// patience is how long a state may take to be reached: longer than the two minutes after which a release that fails to start goes back.
	patience = 5 * time.Minute
	// rounds is how often a version is applied again while nothing may change.
	rounds = 4
)

// app is a workload and a ConfigMap beside it, which a tool brings into the cluster. All of it has one name.
type app struct {
	*stage
	scene
	lab.Workload
	tool     tool
	versions []version
	story    strings.Builder
}

// version is one of an app.
type version struct {
	workload []byte
	// note is what the ConfigMap has.
	note string
}

// tool brings the versions of an app into the cluster.
type tool interface {
	// begin prepares it.
	begin(context.Context) error
	// bring begins to bring another version.
	bring(context.Context, version) error
	// back begins to go back so many versions, and returns how that is done.
	back(ctx context.Context, versions int) (how string, err error)
	// shows returns what it shows of the newest version. Its error says that this was not tried yet.
	shows(context.Context) (outcome, error)
	// again applies the newest version once more, unless the tool does so by itself, and returns how often it was applied.
	again(context.Context) (int64, error)
}

// assessor is a tool that shows the health of a workload.
type assessor interface {
	// agrees returns an error as long as it shows another health than that of a release with this record.
	agrees(context.Context, *appv1alpha1.ChangeWorkload) error
}

// outcome is what a tool shows of a version.
type outcome struct {
	ok   bool
	says string
	// final means that it doesn't change by itself.
	final bool
}

// play plays the scene. Its error names it.
func (a *app) play(whole context.Context) error {
	ctx, cancel := context.WithCancel(whole) // ends what still waits when a step failed
	defer cancel()
	err := a.begin(ctx)
	for i := 0; err == nil && i < len(a.steps); i++ {
		err = a.steps[i](a, ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.name, err)
	}
	return nil
}

// begin brings the manifest.
func (a *app) begin(ctx context.Context) error {
	workload, err := yaml.YAMLToJSON([]byte(a.named(a.manifest)))
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(workload, object); err != nil {
		return err
	}
	a.Workload = lab.Workload{Lab: a.lab, Kind: object.GroupVersionKind(), ObjectKey: client.ObjectKey{Namespace: namespace, Name: a.name}, Patience: patience}
	if err := a.tool.begin(ctx); err != nil {
		return err
	}
	return a.bring(ctx, version{workload, "a good first version"})
}

func (a *app) named(template string) string {
	return strings.NewReplacer("NAME", a.name, "KIND", a.Kind.Kind).Replace(template)
}

func (a *app) newest() version { return a.versions[len(a.versions)-1] }

func (a *app) bring(ctx context.Context, next version) error {
	a.versions = append(a.versions, next)
	a.tell("user", "%s", next.note)
	return a.tool.bring(ctx, next)
}

// commit brings a version that differs from the newest by a merge patch.
func (a *app) commit(ctx context.Context, note, patch string) error {
	workload, err := jsonpatch.MergePatch(a.newest().workload, []byte(patch))
	if err != nil {
		return err
	}
	return a.bring(ctx, version{workload, note})
}

// revert goes back so many versions.
func (a *app) revert(ctx context.Context, versions int) error {
	how, err := a.tool.back(ctx, versions)
	a.tell("user", "%s", how)
	a.versions = append(a.versions, a.versions[len(a.versions)-1-versions])
	return err
}

func (a *app) tell(who, format string, args ...any) {
	text, _, _ := strings.Cut(fmt.Sprintf(format, args...), "\n")
	fmt.Fprintf(&a.story, "  %-9s %s\n", who, text)
}

// shows waits until the tool has tried the newest version, with this success, and says this among others.
func (a *app) shows(ctx context.Context, ok bool, says string) error {
	var failure error
	err := lab.Until(ctx, patience, fmt.Sprintf("success %t: %s", ok, says), func(ctx context.Context) error {
		shown, err := a.tool.shows(ctx)
		if err != nil {
			return err
		}
		if shown.ok != ok || !strings.Contains(shown.says, says) {
			err = fmt.Errorf("it shows the success %t: %s", shown.ok, shown.says)
			if shown.final {
				failure, err = fmt.Errorf("success %t: %s: %w", ok, says, err), nil
			}
			return err
		}
		a.tell(a.scene.tool, "%s", shown.says)
		return nil
	})
	return errors.Join(err, failure)
}

// configured checks whether the ConfigMap is that of the newest version.
func (a *app) configured(ctx context.Context, want bool) error {
	config := &corev1.ConfigMap{}
	if err := a.lab.Kube.Get(ctx, a.ObjectKey, config); err != nil {
		return err
	}
	if got := config.Data["note"] == a.newest().note; got != want {
		return fmt.Errorf("the ConfigMap beside it has the note %q, that of the newest version is %q", config.Data["note"], a.newest().note)
	}
	return nil
}
