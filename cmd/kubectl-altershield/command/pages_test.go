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
	"errors"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

// pagesOf answers lists of ChangeWorkloads with pages, each decoded into the list that is handed in, as an API server's answer is.
func pagesOf(asked *[]string, pages ...any) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, is := list.(*appv1alpha1.ChangeWorkloadList); !is {
			return kube.List(ctx, list, options...)
		}
		var of client.ListOptions
		of.ApplyOptions(options)
		at := len(*asked)
		*asked = append(*asked, of.Continue)
		if at >= len(pages) {
			return errors.New("asked for a page too many")
		}
		if failure, is := pages[at].(error); is {
			return failure
		}
		return json.Unmarshal([]byte(fmt.Sprint(pages[at])), list)
	}}
}

// listed returns a page with the record of a Deployment.
func listed(name, next string) string {
	return fmt.Sprintf(`{"metadata": {"continue": %q}, "items": [{"metadata": {"namespace": "shop", "name": %q, "labels": {"app.kubernetes.io/deployment-name": %[2]q}}, "spec": {"appName": %[2]q}}]}`, next, name)
}

func TestListsBeginAnewWhereTheirVersionExpired(t *testing.T) {
	g := NewWithT(t)
	var asked []string
	expired := apierrors.NewResourceExpired("the provided continue parameter is too old")
	pages := []any{listed("a", "1"), expired, listed("a", "2"), listed("b", "")}
	b := newBenchWith(t, pagesOf(&asked, pages...))
	g.Expect(b.run("list", "-o", "name").expects(g, command.OK)).To(Equal("changeworkload.app.ops.cloud.alipay.com/a\nchangeworkload.app.ops.cloud.alipay.com/b\n"))
	g.Expect(asked).To(Equal([]string{"", "1", "", "2"}))

	asked = nil
	answer := newBenchWith(t, pagesOf(&asked, listed("a", "1"), expired, listed("a", "2"), expired)).run("list")
	g.Expect(answer.code).To(Equal(command.Failed))
	g.Expect(answer.err).To(ContainSubstring("listing ChangeWorkloads: the provided continue parameter is too old"), "it doesn't go round for ever")
}

func TestDoctorAndReportReadLongLists(t *testing.T) {
	g := NewWithT(t)
	var asked []string
	last := `{"metadata": {}, "items": [{"metadata": {"namespace": "shop", "name": "b"}}]}` // the last page has no field continue
	funcs := pagesOf(&asked, listed("a", "1"), last)
	funcs.Create = stampsTrials().Create
	g.Expect(newBenchWith(t, funcs, installation(t)...).run("doctor").expects(g, command.OK)).To(HaveSuffix("no problems\n"))
	g.Expect(asked).To(Equal([]string{"", "1"}))
}
