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
	"time"

	. "github.com/onsi/gomega"
)

// trade returns the answer to a browser that gives a ticket for the key.
func (b *bench) trade(text string) (int, string) {
	b.t.Helper()
	answered := b.serve(call("POST", "/api/key", `{"ticket":"`+text+`"}`, header("X-Altershield-Key", "")))
	return answered.Code, answered.Body.String()
}

func TestATicketGivesTheKeyOnce(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	code, body := b.trade(b.ticket.text)
	g.Expect(code).To(Equal(200), body)
	g.Expect(body).To(Equal(`{"key":"` + secret + `"}` + "\n"))
	code, body = b.trade(b.ticket.text)
	g.Expect(code).To(Equal(401))
	g.Expect(body).To(Equal(`{"reason":"Spent","error":"this address was opened already: open the one that kubectl altershield dashboard printed. If it wasn't you that opened it, ` +
		`end kubectl altershield dashboard, and start it with --open=false"}` + "\n"))
	g.Expect(body).NotTo(ContainSubstring(secret))
	b.fake.Step(time.Hour)
	_, body = b.trade(b.ticket.text)
	g.Expect(body).To(HavePrefix(`{"reason":"Spent"`))
}

func TestATicketIsGoodForAMinute(t *testing.T) {
	for late, code := range map[time.Duration]int{0: 200, 59 * time.Second: 200, time.Minute: 401, time.Hour: 401} {
		b := newBench(t)
		b.fake.Step(late)
		answered, body := b.trade(b.ticket.text)
		NewWithT(t).Expect(answered).To(Equal(code), late.String())
		if code == 401 {
			NewWithT(t).Expect(body).To(Equal(`{"reason":"Expired","error":"this address was good for a minute: open the one that kubectl altershield dashboard printed"}` + "\n"))
		}
	}
}

func TestAWrongTicketSpendsNothing(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	for _, text := range []string{"", "x", b.ticket.text[:10], b.ticket.text + "x", strings.Repeat("x", len(b.ticket.text)), secret} {
		code, body := b.trade(text)
		g.Expect(code).To(Equal(401), text)
		g.Expect(body).To(HavePrefix(`{"reason":"Unauthorized","error":"the key is missing or wrong`), text)
		g.Expect(body).NotTo(Or(ContainSubstring(secret), ContainSubstring(b.ticket.text)))
	}
	code, _ := b.trade(b.ticket.text)
	g.Expect(code).To(Equal(200))
}

func TestATicketIsNoKey(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	g.Expect(b.ticket.text).To(HaveLen(43))
	g.Expect(b.ticket.text).NotTo(Equal(newBench(t).ticket.text))
	g.Expect(b.serve(call("GET", "/api/session", "", header("X-Altershield-Key", b.ticket.text))).Code).To(Equal(401))
	g.Expect(b.asked).To(BeEmpty())
}

func TestATicketIsTakenByTheOwnPageInABodyAlone(t *testing.T) {
	b := newBench(t)
	for name, row := range map[string]struct {
		method, target, body string
		code                 int
		header, value        string
	}{
		"another page":     {"POST", "/api/key", `{"ticket":"TICKET"}`, 403, "Origin", "https://evil.example"},
		"a site":           {"POST", "/api/key", `{"ticket":"TICKET"}`, 403, "Sec-Fetch-Site", "cross-site"},
		"read":             {"GET", "/api/key?ticket=TICKET", ``, 405, "", ""},
		"in the query":     {"POST", "/api/key?ticket=TICKET", `{}`, 401, "", ""},
		"no body":          {"POST", "/api/key", ``, 400, "", ""},
		"no JSON":          {"POST", "/api/key", `TICKET`, 400, "", ""},
		"an unknown field": {"POST", "/api/key", `{"ticket":"TICKET","more":1}`, 400, "", ""},
		"a long body":      {"POST", "/api/key", `{"ticket":"` + strings.Repeat("a", 64<<10) + `"}`, 413, "", ""},
		"below":            {"POST", "/api/key/", `{"ticket":"TICKET"}`, 401, "", ""},
	} {
		with := strings.NewReplacer("TICKET", b.ticket.text)
		request := call(row.method, with.Replace(row.target), with.Replace(row.body), header("X-Altershield-Key", ""))
		if row.header != "" {
			request.Header.Set(row.header, row.value)
		}
		answered := b.serve(request)
		NewWithT(t).Expect(answered.Code).To(Equal(row.code), name)
		NewWithT(t).Expect(answered.Body.String()).NotTo(ContainSubstring(secret), name)
	}
	code, _ := b.trade(b.ticket.text)
	NewWithT(t).Expect(code).To(Equal(200), "none of them spent it")
}
