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

package webhooks

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/testkit/sleep"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// now is when every release of these tests is admitted.
var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const (
	versionOf123  = "c6c45d23c098bdf181853a85b60b5d74"
	versionOf1234 = "6a8ff823a5011291b0f02a1d83c2222d"
	operator      = "system:serviceaccount:altershieldoperator-system:altershieldoperator-controller-manager"
)

type (
	object = sleep.Object
	edit   = sleep.Edit
)

var (
	deployment    = sleep.Deployment
	at            = sleep.At
	label         = sleep.Label
	annotation    = sleep.Annotation
	templateLabel = sleep.TemplateLabel
	without       = sleep.Without
	field         = sleep.Field
	all           = sleep.All
	stamped       = sleep.Stamped
	repaired      = sleep.Repaired
)

// processed and suspended set the labels of the operator's reconcilers.
func processed(deployment object) {
	label("altershield.defense.antgroup.com/defense-status", "processed")(deployment)
}

// owned makes another controller the owner.
func owned(deployment object) {
	at(deployment, "metadata")["ownerReferences"] = []any{object{
		"apiVersion": "serving.knative.dev/v1", "kind": "Revision", "name": "sleep-00001", "uid": "r-1", "controller": true,
	}}
}

func suspended(deployment object) {
	label("altershield.defense.antgroup.com/suspend", "1795255000")(deployment)
}

func ignoring(deployment object) {
	label("altershield.defense.antgroup.com/ignored-suspend", "true")(deployment)
}

func recorded(user, time, version, release string) edit {
	return annotation("altershield.defense.antgroup.com/ignored-suspend-by",
		`{"user":"`+user+`","time":"`+time+`","version":"`+version+`","release":`+release+`}`)
}

// releasedBy is the record of a release that is admitted now.
func releasedBy(user, version, release string, changes ...string) edit {
	return annotation("altershield.defense.antgroup.com/released-by", releaseRecord(user, version, release, changes...))
}

func releaseRecord(user, version, release string, changes ...string) string {
	record := `{"user":"` + user + `","time":"2026-11-21T10:00:00Z","version":"` + version + `","release":` + release
	if len(changes) > 0 {
		record += `,"changes":["` + strings.Join(changes, `","`) + `"]`
	}
	return record + "}"
}

// ending adds to the record of a release what it ended.
func ending(ended string) edit {
	return func(deployment object) {
		annotations := at(deployment, "metadata", "annotations")
		record := annotations["altershield.defense.antgroup.com/released-by"].(string)
		annotations["altershield.defense.antgroup.com/released-by"] = strings.TrimSuffix(record, "}") + `,"ended":{` + ended + `}}`
	}
}

// asking adds a request for a rollback, askedBy its author.
func asking(to string) edit { return annotation("altershield.defense.antgroup.com/rollback", to) }

func askedBy(user string) edit {
	return annotation("altershield.defense.antgroup.com/rollback-by", user)
}

// rolledBack lists rollbacks, newest first.
func rolledBack(rollbacks ...string) edit {
	return annotation("altershield.defense.antgroup.com/rollbacks", "["+strings.Join(rollbacks, ",")+"]")
}

// leaving returns a rollback from a version that made the given release; more are further fields.
func leaving(version, toRelease string, more ...string) string {
	fields := append([]string{`"version":"` + version + `","release":3,"to":"` + versionOf123 + `","toRelease":` + toRelease +
		`,"time":"2026-11-21T08:00:00Z"`}, more...)
	return "{" + strings.Join(fields, ",") + "}"
}

// refused is the field of a rollback that quarantines its version for some more hours.
const refused = `"refusedUntil":"2026-11-22T08:00:00Z"`

func raw(t testing.TB, deployment object) runtime.RawExtension {
	t.Helper()
	if deployment == nil {
		return runtime.RawExtension{}
	}
	encoded, err := json.Marshal(deployment)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: encoded}
}

// requestOf returns alice's request to create a Deployment, or to update old to it.
func requestOf(t testing.TB, old, updated object) admission.Request {
	t.Helper()
	request := admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{
		Operation: "UPDATE", Namespace: "default", Name: "sleep", Kind: metav1.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		UserInfo: authenticationv1.UserInfo{Username: "alice"}, OldObject: raw(t, old), Object: raw(t, updated),
	}}
	if old == nil {
		request.Operation = "CREATE"
	}
	return request
}

func marksOf(t testing.TB, deployment object) marks {
	t.Helper()
	decoded, err := decode(raw(t, deployment))
	if err != nil {
		t.Fatal(err)
	}
	return newMarks(kind.Kind{}, decoded)
}

// operations returns a patch as "op path" to value.
func operations(patch []jsonpatch.Operation) map[string]any {
	result := map[string]any{}
	for _, operation := range patch {
		result[operation.Operation+" "+operation.Path] = operation.Value
	}
	return result
}

func merged(maps_ ...map[string]string) map[string]string {
	result := map[string]string{}
	for _, m := range maps_ {
		maps.Copy(result, m)
	}
	return result
}

// cached returns the Deployment as in the cache.
func cached(t testing.TB, edits ...edit) *appsv1.Deployment {
	t.Helper()
	result := &appsv1.Deployment{}
	if err := json.Unmarshal(raw(t, deployment(t, edits...)).Raw, result); err != nil {
		t.Fatal(err)
	}
	return result
}

// accountsOf returns accounts with the reader as their cache.
func accountsOf(t testing.TB, reader client.Reader) *accounts {
	t.Helper()
	options := Options{Reader: reader, Clock: clocktesting.NewFakePassiveClock(now), Recorder: events.Recorder{Events: &recorder{}}}
	return newAccounts(options, countingMetrics(t)).of(kind.Kind{})
}

// pastOf returns a past with the reader as its API server, an empty one for nil.
func pastOf(live client.Reader, accounts *accounts) *past {
	if live == nil {
		live = fake.NewClientBuilder().WithScheme(testkit.Scheme()).Build()
	}
	return newPast(Options{Live: live, Clock: clocktesting.NewFakePassiveClock(now)}, accounts).of(kind.Kind{})
}

// freezesOf returns freezes with the ChangeFreezes, BreakGlasses and namespaces.
func freezesOf(t testing.TB, accounts *accounts, kind workload.Kind, objects ...client.Object) *freezes {
	t.Helper()
	reader := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).Build()
	options := Options{Reader: reader, Live: reader, Namespace: "altershieldoperator-system", Clock: clocktesting.NewFakePassiveClock(now)}
	return newFreezes(options, newPast(options, accounts), accounts).of(kind)
}

// pacesOf returns paces with the ReleasePolicies, ReleaseGates and namespaces.
func pacesOf(t testing.TB, past *past, kind workload.Kind, objects ...client.Object) *paces {
	t.Helper()
	reader := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(objects...).Build()
	return newPaces(Options{Reader: reader, Namespace: "altershieldoperator-system"}, past).of(kind)
}

func countingMetrics(t testing.TB) *Metrics {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return metrics
}

// jsonOf returns a value as JSON has it.
func jsonOf(t testing.TB, value any) (decoded any) {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}
