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
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

// plugin answers the questions of checks. They pass, unless it is told otherwise.
type plugin struct {
	mu sync.Mutex
	// coming are the next answers, by namespace and name of the workload.
	coming map[string]coming
}

// coming is the answer to some questions.
type coming struct {
	answer string
	times  int
}

// will has the plug-in answer as an action says.
func (p *plugin) will(action plan.Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.coming[action.Namespace+"/"+action.Name] = coming{action.Text, action.Count}
}

// next returns the answer to a question about a workload.
func (p *plugin) next(workload string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := p.coming[workload]
	if next.times == 0 {
		return "Pass"
	}
	next.times--
	p.coming[workload] = next
	return next.answer
}

// slowAnswer is shorter than the operator waits for an answer.
const slowAnswer = 2 * time.Second

// ServeHTTP answers a question, and that it is there.
func (p *plugin) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		return
	}
	var question struct {
		Workload struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"workload"`
	}
	if err := json.NewDecoder(request.Body).Decode(&question); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch answer := p.next(question.Workload.Namespace + "/" + question.Workload.Name); answer {
	case "error":
		http.Error(w, "no answer", http.StatusInternalServerError)
	case "slow":
		select {
		case <-request.Context().Done():
		case <-time.After(slowAnswer):
			_, _ = fmt.Fprint(w, `{"verdict":"Pass"}`)
		}
	default:
		_, _ = fmt.Fprintf(w, `{"verdict":%q}`, answer) // the operator asks again otherwise
	}
}

// servePlugin starts the plug-in, until the context ends.
func servePlugin(ctx context.Context) (served *plugin, address string, err error) {
	served = &plugin{coming: map[string]coming{}}
	address, err = lab.ServeHTTP(ctx, served, lab.AnyPort, "")
	return served, "http://" + address, err
}
