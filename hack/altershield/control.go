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

package altershield

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// ControlHelp lists the control endpoints.
const ControlHelp = `Control endpoints:
  POST   /test/rules   adds a rule that makes checks fail; see the examples
  GET    /test/rules   the current rules
  DELETE /test/rules   removes all rules, so that every check passes
  POST   /test/faults  makes the server misbehave: {"kind":..., "actions":[...], "remaining":...}
                       of calls:  down, hang ("delay":"3s"), refuse ("code","message"), status ("httpStatus"),
                                  empty, html, drop
                       of checks: callback-twice, callback-lost, callback-early, callback-late ("delay"),
                                  callback-wrong-sign, stage-timeout
  DELETE /test/faults  removes all faults
  GET    /test/orders  the orders with their batches and callbacks
`

func (s *Server) addControl(mux *http.ServeMux) {
	mux.HandleFunc("POST /test/rules", func(w http.ResponseWriter, r *http.Request) {
		var rule Rule
		if err := read(r, &rule); err != nil {
			refuse(w, err)
			return
		}
		if err := rule.validate(); err != nil {
			refuse(w, err)
			return
		}
		s.AddRule(rule)
		show(w, http.StatusOK, s.Rules())
	})
	mux.HandleFunc("GET /test/rules", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusOK, s.Rules()) })
	mux.HandleFunc("DELETE /test/rules", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearRules()
		show(w, http.StatusOK, s.Rules())
	})
	mux.HandleFunc("POST /test/faults", s.postFault)
	mux.HandleFunc("DELETE /test/faults", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearFaults()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /test/orders", func(w http.ResponseWriter, _ *http.Request) { show(w, http.StatusOK, s.ordersWithNodes()) })
}

func (s *Server) postFault(w http.ResponseWriter, r *http.Request) {
	// The delay is given as text.
	var given struct {
		Fault
		Delay string `json:"delay"`
	}
	if err := read(r, &given); err != nil {
		refuse(w, err)
		return
	}
	fault := given.Fault
	if given.Delay != "" {
		delay, err := time.ParseDuration(given.Delay)
		if err != nil {
			refuse(w, fmt.Errorf("delay: %w", err))
			return
		}
		fault.Delay = delay
	}
	if err := fault.validate(); err != nil {
		refuse(w, err)
		return
	}
	s.SetFault(fault)
	w.WriteHeader(http.StatusNoContent)
}

// orderWithNodes is an order in the answer of a control endpoint.
type orderWithNodes struct {
	Order
	Nodes []Node `json:"nodes"`
}

func (s *Server) ordersWithNodes() []orderWithNodes {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := []orderWithNodes{}
	for _, order := range s.orders {
		nodes := []Node{}
		for _, node := range s.nodes {
			if node.order == order {
				nodes = append(nodes, node.Node)
			}
		}
		shown = append(shown, orderWithNodes{Order: order.Order, Nodes: nodes})
	}
	return shown
}

// read decodes JSON. It rejects unknown fields, which are most likely typing errors.
func read(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func refuse(w http.ResponseWriter, err error) {
	show(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
}

// show answers indented JSON. Write errors are ignored: the client is gone.
func show(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", jsonType)
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
}
