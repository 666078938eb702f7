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

package command_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

const aboutWeb = `"namespace":"shop","kind":"Deployment","name":"web"`

// pageActs are the calls that write, each with the verb that does the same.
func pageActs() map[string]struct{ body, line string } {
	batch := "web--x--" + version("49") + "--x--1"
	return map[string]struct{ body, line string }{
		"rollback":      {aboutWeb + `,"to":"5"`, "rollback web --to=5"},
		"go-on":         {aboutWeb + `,"step":"2"`, "go-on web 2"},
		"approve":       {aboutWeb + `,"reason":"CHG-1"`, "approve web --reason CHG-1"},
		"deny":          {aboutWeb + `,"reason":"CHG-1"`, "deny web --reason CHG-1"},
		"hold":          {aboutWeb + `,"reason":"database"`, "hold web --reason database"},
		"resume":        {aboutWeb, "resume web"},
		"verdict":       {`"namespace":"shop","changePod":"` + batch + `","verdict":"pass","pod":"web-1","reason":"wrong"`, "verdict " + batch + " pass --pod web-1 --reason wrong"},
		"freeze-lock":   {aboutWeb + `,"lock":"inc-1","for":"2h","action":"Deny","reason":"INC"`, "freeze lock inc-1 web --for=2h --action=Deny --reason INC"},
		"freeze-unlock": {`"namespace":"shop","lock":"inc-99"`, "freeze unlock inc-99"},
		"break-glass":   {aboutWeb + `,"override":"Freeze,Pace","for":"30m","uses":2,"reason":"INC"`, "break-glass web --override=Freeze,Pace --for=30m --uses=2 --reason INC"},
	}
}

// tried is a write that reached the API server.
type tried struct {
	verb string
	dry  bool
}

// writes notes each write, and has it done unless it is a dry run.
func writes(noted *[]tried) interceptor.Funcs {
	note := func(verb string, dryRun []string) bool {
		*noted = append(*noted, tried{verb, len(dryRun) > 0})
		return len(dryRun) > 0
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			var asked client.CreateOptions
			asked.ApplyOptions(options)
			switch object.(type) {
			case *appv1alpha1.ChangeApproval, *appv1alpha1.ChangeFreeze, *appv1alpha1.BreakGlass:
			default:
				return nil
			}
			if object.GetName() == "" {
				object.SetName(object.GetGenerateName() + "1")
			}
			if note("create", asked.DryRun) {
				object.SetResourceVersion("9")
				return nil
			}
			return kube.Create(ctx, object, options...)
		},
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			var asked client.PatchOptions
			asked.ApplyOptions(options)
			if note("patch", asked.DryRun) {
				return nil
			}
			return kube.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, kube client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			var asked client.SubResourcePatchOptions
			asked.ApplyOptions(options)
			if note("patch "+name, asked.DryRun) {
				object.SetResourceVersion("9")
				return nil
			}
			return kube.SubResource(name).Patch(ctx, object, patch, options...)
		},
		Delete: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			var asked client.DeleteOptions
			asked.ApplyOptions(options)
			if note("delete", asked.DryRun) {
				return nil
			}
			return kube.Delete(ctx, object)
		},
	}
}

// actObjects are those about which a verb can be used.
func actObjects(verb string) []client.Object {
	of := failed(7, "49")
	judged := batch(of)
	judged.Spec.PodInfos = []appv1alpha1.PodSummary{{Pod: "web-1"}}
	deployment := web(7, "49", suspendedLabel)
	switch verb {
	case "resume":
		deployment.Spec.Paused = true
	case "go-on":
		paced(deployment)
	}
	return []client.Object{of, verified(5, "a1"), deployment, kept(5, "a1", "web:1.8"), judged, changeFreeze("shop", "inc-99", time.Hour)}
}

func TestAPageAsksForWhatTheVerbAsksFor(t *testing.T) {
	for verb, row := range pageActs() {
		g := NewWithT(t)
		var noted []tried
		b := newBenchWith(t, writes(&noted), actObjects(verb)...)
		p := b.page("--read-only=false")
		before := stored(t, b)
		code, body := p.call(http.MethodPost, "/api/act/"+verb, `{`+row.body+`,"dryRun":true}`)
		g.Expect(code).To(Equal(200), verb+body)
		g.Expect(noted).To(HaveLen(1), verb)
		g.Expect(noted[0].dry).To(BeTrue(), verb)
		g.Expect(stored(t, b)).To(Equal(before), verb)
		printed := b.run(append(split(row.line), "-o", "json", "--dry-run=server")...).expects(g, command.OK)
		g.Expect(compact(t, body)).To(Equal(compact(t, printed)), verb)
		g.Expect(body).To(ContainSubstring(`"dryRun":true`), verb)
	}
}

func TestAPageActsAfterADryRun(t *testing.T) {
	for verb, row := range pageActs() {
		g := NewWithT(t)
		var noted []tried
		b := newBenchWith(t, writes(&noted), actObjects(verb)...)
		code, body := b.page("--read-only=false").call(http.MethodPost, "/api/act/"+verb, `{`+row.body+`,"dryRun":false}`)
		g.Expect(code).To(Equal(200), verb+body)
		g.Expect(noted).To(HaveLen(2), verb)
		g.Expect(noted[0].dry).To(BeTrue(), verb)
		g.Expect(noted[1]).To(Equal(tried{noted[0].verb, false}), verb)
		g.Expect(body).NotTo(ContainSubstring("dryRun"), verb)

		other := newBenchWith(t, writes(&noted), actObjects(verb)...)
		printed := other.run(append(split(row.line), "-o", "json", "-y")...).expects(g, command.OK)
		g.Expect(compact(t, body)).To(Equal(compact(t, printed)), verb)
		g.Expect(stored(t, b)).To(Equal(stored(t, other)), verb+": the same is written")
	}
}

func TestAPageThatIsDeniedADryRunDoesNothing(t *testing.T) {
	g := NewWithT(t)
	tried := 0
	b := rollbackBench(t, interceptor.Funcs{Patch: func(_ context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, options ...client.PatchOption) error {
		var asked client.PatchOptions
		asked.ApplyOptions(options)
		g.Expect(asked.DryRun).To(Equal([]string{"All"}))
		tried++
		return denied()
	}})
	code, body := b.page("--read-only=false").call(http.MethodPost, "/api/act/rollback", `{`+aboutWeb+`,"dryRun":false}`)
	g.Expect(code).To(Equal(422))
	g.Expect(body).To(HavePrefix(`{"reason":"Denied","error":"changing deployment/web in namespace shop: admission webhook`))
	g.Expect(tried).To(Equal(1))
}

func TestAPageThatReadsDoesNotAct(t *testing.T) {
	for verb, row := range pageActs() {
		var noted []tried
		b := newBenchWith(t, writes(&noted), actObjects(verb)...)
		code, body := b.page().call(http.MethodPost, "/api/act/"+verb, `{`+row.body+`,"dryRun":false}`)
		NewWithT(t).Expect(code).To(Equal(403), verb)
		NewWithT(t).Expect(body).To(ContainSubstring(`"reason":"ReadOnly"`), verb)
		NewWithT(t).Expect(noted).To(BeEmpty(), verb)
	}
}

func TestAPageActsOnWhatItShowed(t *testing.T) {
	for from, code := range map[string]int{
		`{"release":7,"version":"` + version("49") + `"}`: 200, `{"release":6,"version":"` + version("49") + `"}`: 409, `{"release":7,"version":"x"}`: 409, `null`: 200,
	} {
		g := NewWithT(t)
		b := rollbackBench(t, interceptor.Funcs{})
		answered, body := b.page("--read-only=false").call(http.MethodPost, "/api/act/rollback", `{`+aboutWeb+`,"from":`+from+`,"dryRun":false}`)
		g.Expect(answered).To(Equal(code), from+body)
		if code == 409 {
			g.Expect(body).To(HavePrefix(`{"reason":"Conflict","error":"deployment/web is at release 7 by now, so nothing was changed`))
			g.Expect(requested(t, b)).To(BeEmpty())
		} else {
			g.Expect(requested(t, b)).To(Equal(version("a1")))
		}
	}
}

func TestAPageApprovesTheReleaseThatItShowedWithoutTheWorkload(t *testing.T) {
	for from, code := range map[string]int{
		`{"release":7,"version":"` + version("49") + `"}`: 200, `{"release":6,"version":"` + version("a1") + `"}`: 409,
	} {
		g := NewWithT(t)
		var noted []tried
		funcs := writes(&noted)
		funcs.Get = refuses("Deployment").Get
		answered, body := newBenchWith(t, funcs, actObjects("approve")...).page("--read-only=false").call(http.MethodPost, "/api/act/approve", `{`+aboutWeb+`,"from":`+from+`,"dryRun":false}`)
		g.Expect(answered).To(Equal(code), from+body)
		if code == 409 {
			g.Expect(body).To(HavePrefix(`{"reason":"Conflict","error":"deployment/web is at release 7 by now, so nothing was changed`))
			g.Expect(noted).To(BeEmpty())
		}
	}
}

func TestAPageActsOnTheBatchOrTheLockThatItShowed(t *testing.T) {
	for verb, says := range map[string]string{
		"verdict":       "changepod/web--x--" + version("49") + "--x--1 has changed since it was shown, so nothing was changed: look at it again",
		"freeze-unlock": "changefreeze/inc-99 has changed since it was shown, so nothing was changed: look at it again",
	} {
		for _, change := range []string{"", "edited", "made anew"} {
			g := NewWithT(t)
			b := newBenchWith(t, interceptor.Funcs{}, actObjects(verb)...)
			p, asked := b.page("--read-only=false"), pageActs()[verb].body
			_, body := p.call(http.MethodPost, "/api/act/"+verb, `{`+asked+`,"dryRun":true}`)
			var shown struct{ At string }
			g.Expect(json.Unmarshal([]byte(body), &shown)).To(Succeed())
			g.Expect(shown.At).NotTo(BeEmpty(), verb)
			object := shownObject(t, b, verb)
			switch change {
			case "edited":
				object.SetGeneration(object.GetGeneration() + 1)
				g.Expect(b.kube.Update(t.Context(), object)).To(Succeed())
			case "made anew":
				g.Expect(b.kube.Delete(t.Context(), object)).To(Succeed())
				object.SetResourceVersion("")
				object.SetUID("another")
				g.Expect(b.kube.Create(t.Context(), object)).To(Succeed())
			}
			object = shownObject(t, b, verb)
			code, body := p.call(http.MethodPost, "/api/act/"+verb, `{`+asked+`,"at":"`+shown.At+`","dryRun":false}`)
			if change == "" {
				g.Expect(code).To(Equal(200), verb+body)
				continue
			}
			g.Expect(code).To(Equal(409), verb+" "+change+body)
			g.Expect(body).To(HavePrefix(`{"reason":"Conflict","error":"`+says), verb)
			g.Expect(shownObject(t, b, verb)).To(Equal(object), verb+" "+change)
		}
	}
}

// shownObject returns the batch or the lock about which a verb is asked.
func shownObject(t *testing.T, b *bench, verb string) client.Object {
	t.Helper()
	object, name := client.Object(&appv1alpha1.ChangePod{}), "web--x--"+version("49")+"--x--1"
	if verb == "freeze-unlock" {
		object, name = &appv1alpha1.ChangeFreeze{}, "inc-99"
	}
	NewWithT(t).Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, object)).To(Succeed())
	return object
}

func TestAPageHasTheWarningsOfItsOwnCall(t *testing.T) {
	g := NewWithT(t)
	var b *bench
	b = rollbackBench(t, interceptor.Funcs{Patch: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ client.Patch, _ ...client.PatchOption) error {
		b.config.WarningHandlerWithContext.HandleWarningHeaderWithContext(ctx, 299, "-", "it has no effect")
		b.config.WarningHandlerWithContext.HandleWarningHeaderWithContext(t.Context(), 299, "-", "of another call")
		return nil
	}})
	_, body := b.page("--read-only=false").call(http.MethodPost, "/api/act/rollback", `{`+aboutWeb+`,"dryRun":false}`)
	g.Expect(body).To(ContainSubstring(`"warnings":["it has no effect"]`), "once, although there was a dry run")
}

func TestAPageRefusesWhatCanNotBeDone(t *testing.T) {
	batch := "web--x--" + version("49") + "--x--1"
	for name, row := range map[string]struct {
		verb, body string
		code       int
		says       string
	}{
		"no workload":             {"rollback", `"namespace":"shop"`, 400, "a workload must be named"},
		"an unknown one":          {"hold", `"namespace":"shop","kind":"Deployment","name":"none"`, 404, "there is no workload"},
		"an unknown release":      {"rollback", aboutWeb + `,"to":"99"`, 422, "99"},
		"no steps":                {"go-on", aboutWeb, 422, "isn't rolled out in steps"},
		"not paused":              {"resume", aboutWeb, 422, "paused"},
		"held twice":              {"deny", `"namespace":"shop","kind":"Deployment","name":"new","reason":"r"`, 404, "there is no workload"},
		"no verdict":              {"verdict", `"namespace":"shop","changePod":"` + batch + `","verdict":"maybe","reason":"r"`, 400, "is none of pass, fail"},
		"no such batch":           {"verdict", `"namespace":"shop","changePod":"none","verdict":"pass","reason":"r"`, 404, "none"},
		"a verdict without":       {"verdict", `"namespace":"shop","changePod":"` + batch + `","verdict":"pass"`, 400, "a reason is needed"},
		"a lock without a reason": {"freeze-lock", `"namespace":"shop","lock":"l","reason":" "`, 400, "a reason is needed"},
		"a lock without a name":   {"freeze-lock", `"namespace":"shop","reason":"r"`, 400, "the lock must be named"},
		"a lock for how long":     {"freeze-lock", `"namespace":"shop","lock":"l","for":"long","reason":"r"`, 400, "is no time such as 2h"},
		"a lock of what":          {"freeze-lock", `"namespace":"shop","lock":"l","kind":"Deployment","name":"none","reason":"r"`, 404, "there is no workload"},
		"a lock with an action":   {"freeze-lock", `"namespace":"shop","lock":"l","action":"Eat","reason":"r"`, 400, "is none of Park, Deny, Warn"},
		"a lock that runs":        {"freeze-lock", `"namespace":"shop","lock":"l","running":"Eat","reason":"r"`, 400, "is none of Finish, Hold"},
		"unlock what":             {"freeze-unlock", `"namespace":"shop"`, 400, "the lock must be named"},
		"unlock none":             {"freeze-unlock", `"namespace":"shop","lock":"none"`, 404, "none"},
		"glass without a reason":  {"break-glass", aboutWeb + `,"override":"Freeze"`, 400, "a reason is needed"},
		"glass of what":           {"break-glass", `"namespace":"shop","override":"Freeze","reason":"r"`, 400, "a workload must be named"},
		"glass for how long":      {"break-glass", aboutWeb + `,"override":"Freeze","for":"x","reason":"r"`, 400, "is no time such as 2h"},
		"glass of none":           {"break-glass", `"namespace":"shop","kind":"Deployment","name":"none","override":"Freeze","reason":"r"`, 404, "there is no workload"},
		"glass for nothing":       {"break-glass", aboutWeb + `,"reason":"r"`, 400, "can't be overridden"},
	} {
		g := NewWithT(t)
		var noted []tried
		code, body := newBenchWith(t, writes(&noted), actObjects("")...).page("--read-only=false").call(http.MethodPost, "/api/act/"+row.verb, `{`+row.body+`,"dryRun":false}`)
		g.Expect(code).To(Equal(row.code), name+body)
		g.Expect(body).To(ContainSubstring(row.says), name)
		g.Expect(noted).To(BeEmpty(), name)
	}
}

func TestALockOfANamespaceLocksAll(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	_, body := b.page("--read-only=false").call(http.MethodPost, "/api/act/freeze-lock", `{"namespace":"shop","lock":"inc-1","reason":"INC","dryRun":false}`)
	g.Expect(body).To(ContainSubstring(`"changes":["workloads: all","action: Park","running: Finish","expires: 1h0m0s"]`))
}
