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

package altershield_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

// clock is a time that stands still until it is advanced.
type clock struct {
	mutex sync.Mutex
	now   time.Time
}

func (c *clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

func (c *clock) putOn(time time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(time)
}

func TestCreateSceneTakesEffectAfter20SecondsWhereItWasAskedForBefore(t *testing.T) {
	noScene := refused("101", "none change scene found for changeSceneKey:com.alipay.altershield.kubernetes.rollingupdate")
	clock := &clock{now: time.Now()}
	k := newKit(t, altershield.Options{NoScene: true, Now: clock.Now})
	k.Expect(k.call("submitChangeExecOrder", orderBody("o1"))).To(Equal(noScene))
	k.server.CreateScene()
	clock.putOn(20*time.Second - 1)
	k.Expect(k.call("submitChangeExecOrder", orderBody("o1"))).To(Equal(noScene))
	clock.putOn(1)
	k.submit("o1")

	k = newKit(t, altershield.Options{NoScene: true, Now: clock.Now})
	k.server.CreateScene()
	k.submit("o1")
}

func TestSkipsAuthAsTheConfigurationSays(t *testing.T) {
	clock := &clock{now: time.Now()}
	k := newKit(t, altershield.Options{SkipAuth: true, Now: clock.Now, PreDelay: never})
	configure := func(body string) answer {
		request, err := http.NewRequest(http.MethodPost, k.url+"/meta/config/create", strings.NewReader(body))
		k.Expect(err).NotTo(HaveOccurred())
		got, err := send(request)
		k.Expect(err).NotTo(HaveOccurred())
		return got
	}
	order := func(id, sign string) answer {
		request, err := http.NewRequest(http.MethodPost, k.url+"/openapi/v1/exe/submitChangeExecOrder", strings.NewReader(orderBody(id)))
		k.Expect(err).NotTo(HaveOccurred())
		request.Header.Set("X-AlterShield-Platform", "kubernetes")
		request.Header.Set("X-AlterShield-Timestamp", "1700000000000")
		request.Header.Set("X-AlterShield-Sign", sign)
		got, err := send(request)
		k.Expect(err).NotTo(HaveOccurred())
		return got
	}
	denied := refused("102", "authentication request fail")
	k.Expect(order("o1", "anything").body).To(succeeds(), "as it is shipped")
	k.Expect(order("o2", " ")).To(Equal(denied), "but something")

	k.Expect(configure(`{"name":"SKIP_OPEN_API_AUTH","value":"false"}`)).To(Equal(refused("101", "name, value and cfgDesc must not be blank")))
	k.Expect(configure(`{`).status).To(Equal(400))
	k.Expect(configure(`{"name":"OTHER","value":"false","cfgDesc":"x"}`).body).To(succeeds())
	k.Expect(configure(`{"name":"SKIP_OPEN_API_AUTH","value":"false","cfgDesc":"x"}`).body).To(succeeds())
	clock.putOn(10*time.Second - 1)
	k.Expect(order("o3", "anything").body).To(succeeds(), "not yet")
	clock.putOn(1)
	k.Expect(order("o4", "anything")).To(Equal(denied))
	k.submit("o4")
	k.Expect(configure(`{"name":"SKIP_OPEN_API_AUTH","value":"true","cfgDesc":"x"}`).body).To(succeeds())
	clock.putOn(10 * time.Second)
	k.Expect(order("o5", "anything").body).To(succeeds())
}
