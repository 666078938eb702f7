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
	"net/http"
	"sync"
	"time"
)

// ticketTime is how long a browser may take to start.
const ticketTime = time.Minute

// ticketMark begins the fragment of an address with a ticket. No key has its last character.
const ticketMark = "once="

// ticket gives the key once. The address that a browser is started with is in the list of processes, which other users of the machine can read.
type ticket struct {
	text  string
	until time.Time

	lock    sync.Mutex
	isSpent bool
}

func newTicket(now time.Time) *ticket { return &ticket{text: newKey(), until: now.Add(ticketTime)} }

// spend spends the ticket, or returns why it can't be spent. A wrong text spends nothing, as any process of the machine may send one.
func (t *ticket) spend(text string, now time.Time) (Failure, bool) {
	if !isKey(text, t.text) {
		return keyless(), false
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	switch {
	case t.isSpent:
		return Failure{http.StatusUnauthorized, Spent, "this address was opened already: open the one that kubectl altershield dashboard printed. " +
			"If it wasn't you that opened it, end kubectl altershield dashboard, and start it with --open=false"}, false
	case !now.Before(t.until):
		return Failure{http.StatusUnauthorized, Expired, "this address was good for a minute: open the one that kubectl altershield dashboard printed"}, false
	}
	t.isSpent = true
	return Failure{}, true
}

// trade answers with the key to a browser that has the ticket.
func (s *server) trade(writer http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		writer.Header().Set("Allow", http.MethodPost)
		refuse(writer, Failure{http.StatusMethodNotAllowed, MethodNotAllowed, "this call is made with POST"})
		return
	}
	var given struct {
		Ticket string `json:"ticket"`
	}
	if failure, ok := decode(http.MaxBytesReader(writer, request.Body, maxBody), &given); !ok {
		refuse(writer, failure)
		return
	}
	if failure, ok := s.ticket.spend(given.Ticket, s.clock.Now()); !ok {
		refuse(writer, failure)
		return
	}
	answer(writer, http.StatusOK, map[string]string{"key": s.key})
}
