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

package routers

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	. "github.com/onsi/gomega"
)

func TestReadRollbackRequestRefusesInvalidRequests(t *testing.T) {
	const small, shape = "the rollback request is larger than 4 KiB", "the request is malformed: it must be a JSON object of strings, but for the boolean park"
	long := `{"namespace":"default","name":"sleep"}`
	for _, row := range []struct {
		name, body string
		code       int
		message    string
	}{
		{"without a body", "", 400, "the request has no body"},
		{"with spaces for a body", " \n", 400, "the request has no body"},
		{"without fields", `{}`, 400, "the field namespace is missing"},
		{"of nothing", `null`, 400, "the field namespace is missing"},
		{"without a namespace", `{"name":"sleep"}`, 400, "the field namespace is missing"},
		{"without a name", `{"namespace":"default"}`, 400, "the field name is missing"},
		{"with no namespace", `{"namespace":"a/b","name":"sleep"}`, 400, `\"a/b\" is not the name of a namespace`},
		{"with dots in the namespace", `{"namespace":"a.b","name":"sleep"}`, 400, `\"a.b\" is not the name of a namespace`},
		{"with no name", `{"namespace":"default","name":"Sleep"}`, 400, `\"Sleep\" is not the name of a Deployment`},
		{"with no name of a StatefulSet", `{"kind":"StatefulSet","namespace":"default","name":"Web"}`, 400, `\"Web\" is not the name of a StatefulSet`},
		{"with a short version", `{"namespace":"default","name":"sleep","version":"0123"}`, 400,
			`\"0123\" is not a version: it must have 32 lower-case hexadecimal digits`},
		{"with capitals in the version", `{"namespace":"default","name":"sleep","version":"0123456789ABCDEF0123456789ABCDEF"}`, 400,
			`\"0123456789ABCDEF0123456789ABCDEF\" is not a version: it must have 32 lower-case hexadecimal digits`},
		{"with no digit in the middle of the version", `{"namespace":"default","name":"sleep","version":"0123456789abcdefg123456789abcdef"}`, 400,
			`\"0123456789abcdefg123456789abcdef\" is not a version: it must have 32 lower-case hexadecimal digits`},
		{"with another field", `{"namespace":"default","name":"sleep","release":"3"}`, 400, `the request is malformed: json: unknown field \"release\"`},
		{"with a version to park at", `{"namespace":"default","name":"sleep","park":true,"version":"0123456789abcdef0123456789abcdef"}`, 400,
			"the fields park and version exclude each other: a parked release goes back to the version before"},
		{"with a text for a boolean", `{"namespace":"default","name":"sleep","park":"true"}`, 400, shape},
		{"with a number", `{"namespace":"default","name":7}`, 400, shape},
		{"in a list", `[{"namespace":"default","name":"sleep"}]`, 400, shape},
		{"that breaks off", `{"namespace":"default"`, 400, "the request is malformed: unexpected EOF"},
		{"that is none", `namespace=default`, 400, "the request is malformed: invalid character 'a' in literal null (expecting 'u')"},
		{"with more behind it", `{"namespace":"default","name":"sleep"}{}`, 400, "the request is malformed: unexpected data after the JSON object"},
		{"with a bracket behind it", `{"namespace":"default","name":"sleep"}}`, 400, "the request is malformed: unexpected data after the JSON object"},
		{"that is just too long", long + strings.Repeat(" ", 4<<10+1-len(long)), 413, small},
		{"that doesn't end", strings.Repeat("x", 1<<20), 413, small},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b, api := newRollbackBench(t)
			answer := b.takeBack(t, row.body)
			g.Expect(answer.Code).To(Equal(row.code))
			g.Expect(answer.Body.String()).To(beFailure(row.message))
			g.Expect(api.asked).To(BeZero())
			g.Expect(b.roller.asked).To(BeEmpty())
		})
	}
	t.Run("unless it has four KiB", func(t *testing.T) {
		b, _ := newRollbackBench(t)
		NewWithT(t).Expect(b.takeBack(t, long+strings.Repeat(" ", 4<<10-len(long))).Code).To(Equal(200))
	})
	t.Run("that doesn't arrive", func(t *testing.T) {
		g := NewWithT(t)
		b, _ := newRollbackBench(t)
		request := httptest.NewRequestWithContext(t.Context(), "PUT", rollbackPath, iotest.ErrReader(errors.New("cut off")))
		request.Header.Set("Authorization", "Bearer of-alice")
		answer := b.serveHTTP(request)
		g.Expect(answer.Code).To(Equal(400))
		g.Expect(answer.Body.String()).To(beFailure("the request body could not be read"))
	})
}
