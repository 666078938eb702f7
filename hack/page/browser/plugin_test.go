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
package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/dashboard"
)

// record returns the record of the release of web in shop.
func record(phase appv1alpha1.ChangeWorkloadPhase, condition metav1.Condition) appv1alpha1.ChangeWorkload {
	created := appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-491e30c"}}
	created.Spec.AppName, created.Spec.Release, created.Spec.Reversion, created.Spec.CreateTimeUnix = "web", 7, "491e30c2a4c6418da3e9d6b1b6ff2b0a", time.Now().Unix()-60
	created.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
	created.Status.ObservedRelease, created.Status.Status, created.Status.EntryTimeUnix = 7, phase, time.Now().Unix()-30
	created.Status.Conditions = []metav1.Condition{condition}
	return created
}

func suspended() appv1alpha1.ChangeWorkload {
	return record(appv1alpha1.ChangeWorkloadSuspend, metav1.Condition{Type: appv1alpha1.ConditionVerified, Status: metav1.ConditionFalse, Reason: "PodFailed", Message: "2 pods failed POST"})
}

func verified() appv1alpha1.ChangeWorkload {
	return record("", metav1.Condition{Type: appv1alpha1.ConditionVerified, Status: metav1.ConditionTrue, Reason: "Verified"})
}

// plugin is the server of the plugin itself, with the answers of the fake in place of a cluster.
type plugin struct {
	// url is the address that is printed, once the one that the browser is started with.
	url, once string
	changes   chan appv1alpha1.ChangeWorkload
	asked     chan dashboard.Ask
}

func startPlugin(t *testing.T, readOnly bool) *plugin {
	t.Helper()
	of := &plugin{changes: make(chan appv1alpha1.ChangeWorkload), asked: make(chan dashboard.Ask, 9)}
	given := answers(readOnly)
	backend := dashboard.Backend{
		Reads: map[string]dashboard.Read{}, Acts: map[string]dashboard.Act{},
		Follow: func(ctx context.Context, _ string, feed dashboard.Feed) error {
			feed.Replace([]appv1alpha1.ChangeWorkload{suspended()})
			for {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case change := <-of.changes:
					feed.Set(change)
				}
			}
		},
		Explain: func(err error) dashboard.Failure {
			return dashboard.Failure{Status: http.StatusForbidden, Reason: dashboard.Forbidden, Message: err.Error()}
		},
	}
	for call, answer := range given {
		if verb, acts := strings.CutPrefix(call, "act/"); acts {
			backend.Acts[verb] = func(_ context.Context, ask dashboard.Ask) (any, error) {
				of.asked <- ask
				return answer, nil
			}
			continue
		}
		ofWorkload := strings.Contains(" status pods history diff events policies why may ", " "+call+" ")
		backend.Reads[call] = dashboard.Read{OfWorkload: ofWorkload, Answer: func(context.Context, dashboard.Query) (any, error) { return answer, nil }}
	}
	ctx, cancel := context.WithCancel(context.Background())
	started, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- dashboard.Serve(ctx, dashboard.Options{ReadOnly: readOnly, Backend: backend, Clock: clock.RealClock{}, Timeout: time.Minute, Started: func(url, once string) error {
			of.once = once
			started <- url
			return nil
		}})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("serving the page: %v", err)
		}
	})
	select {
	case of.url = <-started:
	case err := <-ended:
		ended <- err
		t.Fatalf("start the server of the plugin: %v", err)
	}
	return of
}

// openPlugin opens the address that the plugin prints, and a view of the page.
func openPlugin(t *testing.T, of *plugin, route string) *tab {
	t.Helper()
	origin, _, _ := strings.Cut(of.url, "/#")
	return openAt(t, &fake{url: origin}, look{}, of.url+route)
}

func TestThePluginStartsABrowserWithoutTheKey(t *testing.T) {
	of := startPlugin(t, true)
	origin, key, _ := strings.Cut(of.url, "/#")
	page := openAt(t, &fake{url: origin}, look{}, of.once+releaseOfWeb)
	page.shows(".head", "shop/web")
	if address := eval[string](page, "location.href"); address != origin+"/#"+releaseOfWeb {
		t.Errorf("the address bar has %s, want the route alone", address)
	}
	page.do(chromedp.Reload())
	page.shows(".head", "shop/web")
	_, ticket, _ := strings.Cut(of.once, "once=")
	for _, address := range page.asked()[1:] {
		if strings.Contains(address, key) || strings.Contains(address, ticket) {
			t.Errorf("the address of a request has a secret: %s", address)
		}
	}
	again := openAt(t, &fake{url: origin}, look{}, of.once)
	again.shows(".banner", "This address was opened already: it is good once. Open the one that kubectl altershield dashboard printed.")
	eval[bool](again, fmt.Sprintf("(location.hash = %q, true)", "#"+key))
	again.shows("section:has(#needs)", "shop/web")
}

func TestThePluginServesThePage(t *testing.T) {
	of := startPlugin(t, true)
	page := openPlugin(t, of, "")
	page.shows("section:has(#needs)", "shop/web", "Suspend", "2 pods failed POST")
	of.changes <- verified()
	page.shows("section:has(#others)", "shop/web", "Success")
	page.shows("[aria-live=polite]", "shop/web, release 7: Success")
	for _, route := range views() {
		page.goTo(route)
		if alerts := eval[[]string](page, `[...document.querySelectorAll("[role=alert]")].map((one) => one.innerText)`); len(alerts) > 0 {
			t.Errorf("%s fails with %v", route, alerts)
		}
	}
	if found := page.violations(); len(found) > 0 {
		t.Errorf("the page violates the policy: %v", found)
	}
	for _, address := range page.asked() {
		if page.isOffOrigin(address) {
			t.Errorf("the page asks others: %s", address)
		}
	}
}

func TestThePluginTakesWhatADialogSends(t *testing.T) {
	of := startPlugin(t, false)
	page := openPlugin(t, of, releaseOfWeb)
	page.click(".actions button", "Roll back…")
	page.acts("image web: shop/web:1.9 -> shop/web:1.8")
	dry := <-of.asked
	if dry.DryRun == nil || !*dry.DryRun || dry.Namespace != "shop" || dry.Kind != "Deployment" || dry.Name != "web" || dry.To != "5" {
		t.Errorf("the first call is %+v, want a dry run of a rollback to 5", dry)
	}
	act := <-of.asked
	for act.DryRun != nil && *act.DryRun {
		act = <-of.asked
	}
	if act.From == nil || act.From.Release != 7 || act.To != "a15e8a37c9d04b2f8a9f1e7c5a4b3c2d" {
		t.Errorf("what acts is %+v, want a rollback of release 7 to the version of the dry run", act)
	}
}

func TestTheFakeHasTheHeadersOfThePlugin(t *testing.T) {
	of := startPlugin(t, true)
	origin, _, _ := strings.Cut(of.url, "/#")
	real, like := headers(t, origin+"/"), headers(t, serve(t, nil, answers(true)).url+"/")
	for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy", "Cross-Origin-Resource-Policy"} {
		if real.Get(name) == "" || real.Get(name) != like.Get(name) {
			t.Errorf("the plugin has %s %q, the fake %q", name, real.Get(name), like.Get(name))
		}
	}
}

func headers(t *testing.T, address string) http.Header {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	return answer.Header
}
