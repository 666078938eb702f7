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

package render_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

func TestDashboard(t *testing.T) {
	g := NewWithT(t)
	g.Expect(render.Dashboard("http://127.0.0.1:1/#k", true, style)).To(Equal(
		"http://127.0.0.1:1/#k\nthe page reads, with your rights; Ctrl-C ends it\nkeep the address to yourself: whoever has it has your rights\n"))
	g.Expect(render.Dashboard("http://127.0.0.1:1/#k", false, render.Style{Language: "zh"})).To(Equal(
		"http://127.0.0.1:1/#k\n页面读取并操作，使用您的权限；按 Ctrl-C 结束\n请勿泄露此地址：得到它的人就有您的权限\n"))
	g.Expect(render.DashboardIdle(style)).To(Equal("there was no call for an hour: the page has ended\n"))
}
