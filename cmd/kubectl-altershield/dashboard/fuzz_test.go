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

package dashboard

import (
	"strings"
	"testing"
)

func FuzzTheBodyOfAnAct(f *testing.F) {
	for _, body := range []string{
		rollback, `{"namespace":"shop","kind":"Deployment","name":"web","dryRun":false,"to":"5","from":{"release":7,"version":"491e"}}`, `{"namespace":"../x","dryRun":true}`,
		`{"namespace":"shop","lock":"..","dryRun":true}`, `{"namespace":"shop","Namespace":"bank","dryRun":true}`, `{"namespace":"shop","dryRun":true,"pod":"a/b"}`, rollback + " {", "[]", "",
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		b := newBench(t, acting)
		answered := b.serve(call("POST", "/api/act/rollback", body))
		switch {
		case answered.Code != 200 && answered.Code != 400 && answered.Code != 413:
			t.Fatalf("%q is answered with %d: %s", body, answered.Code, answered.Body)
		case answered.Code == 200 && len(b.asked) != 1, answered.Code != 200 && len(b.asked) != 0:
			t.Fatalf("%q is answered with %d, and reached the cluster %d times", body, answered.Code, len(b.asked))
		case answered.Code != 200:
			return
		}
		ask := b.asked[0].(Ask)
		if ask.DryRun == nil || ask.Namespace == "" {
			t.Errorf("%q acts without a namespace, or without saying whether it's a dry run", body)
		}
		for field, text := range map[string]string{"namespace": ask.Namespace, "kind": ask.Kind, "name": ask.Name, "changePod": ask.ChangePod, "pod": ask.Pod, "lock": ask.Lock} {
			if strings.ContainsAny(text, "/\\%?#\x00 ") || strings.HasPrefix(text, ".") {
				t.Errorf("%q acts on the %s %q", body, field, text)
			}
		}
	})
}
