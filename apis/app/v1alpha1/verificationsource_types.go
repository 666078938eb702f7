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

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons of ConditionReady of a VerificationSource, besides ReasonReady, ReasonOtherNamespace and ReasonUnauthorized.
const (
	// ReasonSourceUnavailable means that the source doesn't answer, or not as its type does.
	ReasonSourceUnavailable = "SourceUnavailable"
	// ReasonSourceThrottled means that the source refuses further queries for some time.
	ReasonSourceThrottled = "SourceThrottled"
	// ReasonAddressRefused means that the host of the source has an address to which the operator doesn't connect.
	ReasonAddressRefused = "AddressRefused"
	// ReasonBadSecret means that a Secret that the source names is missing, or has no usable content.
	ReasonBadSecret = "BadSecret"
	// ReasonSourceInvalid means that the spec is unusable.
	ReasonSourceInvalid = "Invalid"
)

// ReasonSourceMissing means that there is no VerificationSource of the name that a check has. It is a reason of the check, and of ConditionReady of
// its VerificationPolicy.
const ReasonSourceMissing = "SourceMissing"

// ReasonPartialAnswer is the reason of a check whose source lacks a part of its series, as a part of it is away.
const ReasonPartialAnswer = "PartialAnswer"

// ReasonQueryFailed is the reason of a check whose source couldn't make the query, such as while a store behind it is away. It may be able to later.
const ReasonQueryFailed = "QueryFailed"

// MaxRetryAfter is the longest pause that a source can ask for.
const MaxRetryAfter = 5 * time.Minute

// ConditionWithinLimits reports whether the limits of a VerificationSource had room for all queries.
const ConditionWithinLimits = "WithinLimits"

// Reasons of ConditionWithinLimits.
const (
	// ReasonWithinLimits means that no query was left out.
	ReasonWithinLimits = "WithinLimits"
	// ReasonLimitsReached means that looks come later than the interval of their policies.
	ReasonLimitsReached = "LimitsReached"
)

// SourceType is the API of a source.
//
// +kubebuilder:validation:Enum=Prometheus;HoloInsight;HTTP
type SourceType string

const (
	// SourcePrometheus is the HTTP API of Prometheus, which Thanos, Mimir, Cortex and VictoriaMetrics have as well.
	SourcePrometheus SourceType = "Prometheus"
	// SourceHoloInsight is the API of HoloInsight for queries in PromQL.
	SourceHoloInsight SourceType = "HoloInsight"
	// SourceHTTP is a plug-in, which checks of the type HTTP ask.
	SourceHTTP SourceType = "HTTP"
)

// SourceAuthType is how the operator authenticates to a source.
//
// +kubebuilder:validation:Enum=None;BearerToken;Basic;AccessKey;OAuth2
type SourceAuthType string

const (
	// SourceAuthNone sends no credentials.
	SourceAuthNone SourceAuthType = "None"
	// SourceAuthBearerToken sends the key token of the Secret.
	SourceAuthBearerToken SourceAuthType = "BearerToken"
	// SourceAuthBasic sends the keys username and password of the Secret.
	SourceAuthBasic SourceAuthType = "Basic"
	// SourceAuthAccessKey gets a token of HoloInsight for the keys accessId and accessKey of the Secret.
	SourceAuthAccessKey SourceAuthType = "AccessKey"
	// SourceAuthOAuth2 gets an access token for the keys clientId and clientSecret of the Secret, by the client credentials grant of OAuth 2.0.
	SourceAuthOAuth2 SourceAuthType = "OAuth2"
)

// Keys of the Secrets that a VerificationSource names.
const (
	// SourceCAKey is the key with the certificates of the authorities, in PEM.
	SourceCAKey = "ca.crt"
	// SourceTokenKey is the key with the bearer token.
	SourceTokenKey = "token"
	// SourceUsernameKey and SourcePasswordKey are the keys of basic authentication, those of a Secret of the type kubernetes.io/basic-auth.
	SourceUsernameKey = "username"
	SourcePasswordKey = "password"
	// SourceAccessIDKey and SourceAccessKeyKey are the keys with the two parts of an access key of HoloInsight.
	SourceAccessIDKey  = "accessId"
	SourceAccessKeyKey = "accessKey"
	// SourceClientIDKey and SourceClientSecretKey are the keys with the client credentials of OAuth 2.0.
	SourceClientIDKey     = "clientId"
	SourceClientSecretKey = "clientSecret"
	// SourceSigningKey is the key with the keys of signatures, one a line.
	SourceSigningKey = "key"
)

// SourceSecret names a Secret in the namespace of the operator.
type SourceSecret struct {
	// name is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// SourceTLS is how the certificate of a server is checked, and by which one the operator authenticates. There is no way not to check it.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.caBundle) && has(self.caSecretRef))",message="caBundle and caSecretRef exclude each other"
type SourceTLS struct {
	// caBundle has the certificates of the authorities, in PEM. Without it and caSecretRef, the public authorities are trusted.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	CABundle string `json:"caBundle,omitempty"`
	// caSecretRef names a Secret with the certificates of the authorities in the key ca.crt.
	// +optional
	CASecretRef *SourceSecret `json:"caSecretRef,omitempty"`
	// clientCertSecretRef names a Secret of the type kubernetes.io/tls with the certificate of the operator in tls.crt, and its key in tls.key. It is
	// sent to a server that asks for one.
	// +optional
	ClientCertSecretRef *SourceSecret `json:"clientCertSecretRef,omitempty"`
	// serverName is the name in the certificate of the server; that of the url by default.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServerName string `json:"serverName,omitempty"`
}

// SourceAuth is how the operator authenticates to a source.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'None') != has(self.secretRef)",message="secretRef is required for the types BearerToken, Basic, AccessKey and OAuth2, and not allowed for None"
// +kubebuilder:validation:XValidation:rule="(self.type == 'OAuth2') == has(self.oauth2)",message="oauth2 is required for the type OAuth2, and not allowed for others"
type SourceAuth struct {
	// type is None, BearerToken to send the key token of the Secret, Basic to send its keys username and password, AccessKey to get a token
	// of HoloInsight for its keys accessId and accessKey, or OAuth2 to get an access token for its keys clientId and clientSecret.
	// +kubebuilder:default=None
	// +optional
	Type SourceAuthType `json:"type,omitempty"`
	// secretRef names the Secret.
	// +optional
	SecretRef *SourceSecret `json:"secretRef,omitempty"`
	// oauth2 is where the access tokens of the type OAuth2 are.
	// +optional
	OAuth2 *SourceOAuth2 `json:"oauth2,omitempty"`
}

// SourceOAuth2 is where the operator gets access tokens, by the client credentials grant of OAuth 2.0 (RFC 6749).
type SourceOAuth2 struct {
	// tokenURL is the address of the token endpoint. It is reached as the url of the source is, without redirects and proxies, and at no loopback,
	// link-local or metadata address unless --source-allow-cidr has it.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.matches('^https://[^/?#@]+(/[^?#@]*)?$')",message="tokenURL is https, with a host, and without user info, query and fragment"
	TokenURL string `json:"tokenURL"`
	// scopes are the scopes of the token; those that the server chooses by default.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	// +kubebuilder:validation:items:MaxLength=256
	// +listType=set
	// +optional
	Scopes []string `json:"scopes,omitempty"`
	// audience is for whom the token is, which some servers want as the parameter audience.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Audience string `json:"audience,omitempty"`
	// tls is how the certificate of the token endpoint is checked. spec.tls is for the source alone.
	// +optional
	TLS *SourceTLS `json:"tls,omitempty"`
}

// SourceSigning is how requests are signed: as Standard Webhooks 1.0.0 defines it, by HMAC-SHA256.
type SourceSigning struct {
	// secretRef names a Secret that has the key of signatures as key: at least 24 bytes, or whsec_ and the same in base64. While it changes, key has the
	// new and the old one, each in a line, and requests are signed by both.
	SecretRef SourceSecret `json:"secretRef"`
}

// SourceHeader is a header of every request, such as the tenant of Mimir, Cortex and Thanos. It is no place for credentials.
//
// +kubebuilder:validation:XValidation:rule="!(self.name.lowerAscii() in ['authorization', 'proxy-authorization', 'cookie', 'host', 'connection', 'content-length', 'content-type', 'transfer-encoding', 'accept-encoding'])",message="a header is none of HTTP itself and none of credentials, which belong into auth"
type SourceHeader struct {
	// name is the name of the header, such as X-Scope-OrgID.
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`
	// value is its value.
	// +kubebuilder:validation:Pattern=`^[ -~]*$`
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// SourceLimits protect the source from the operator, and the operator from the source.
type SourceLimits struct {
	// queriesPerSecond is how many queries are sent each second, in the long run.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=10
	// +optional
	QueriesPerSecond int32 `json:"queriesPerSecond,omitempty"`
	// burst is how many may be sent at once after a time without queries.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=20
	// +optional
	Burst int32 `json:"burst,omitempty"`
	// concurrent is how many queries may be unanswered.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +kubebuilder:default=4
	// +optional
	Concurrent int32 `json:"concurrent,omitempty"`
	// timeoutSeconds is how long a query may take. The source is told so.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	// +kubebuilder:default=5
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// maxBytes is the size of the largest answer that is read, without its compression.
	// +kubebuilder:validation:Minimum=1024
	// +kubebuilder:validation:Maximum=67108864
	// +kubebuilder:default=8388608
	// +optional
	MaxBytes int32 `json:"maxBytes,omitempty"`
	// maxSeries is the number of series in the largest answer that is used. A histogram has one for each bucket of each pod.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +kubebuilder:default=5000
	// +optional
	MaxSeries int32 `json:"maxSeries,omitempty"`
}

// SourceLabels are names of labels of the series.
type SourceLabels struct {
	// pod is the label with the name of the pod, such as pod, exported_pod or kubernetes_pod_name.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:default=pod
	// +optional
	Pod string `json:"pod,omitempty"`
	// namespace is the label with the namespace of the pod.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:default=namespace
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// PrometheusSource configures a source of the type Prometheus or HoloInsight.
type PrometheusSource struct {
	// labels are the names of the labels by which series belong to pods.
	// +kubebuilder:default={}
	// +optional
	Labels SourceLabels `json:"labels,omitzero"`
	// enforceNamespace adds the namespace of the checked workload to every selector of a query, so that a check sees no series of other
	// namespaces. A query that can't be parsed is refused then.
	// +optional
	EnforceNamespace bool `json:"enforceNamespace,omitempty"`
}

// VerificationSourceSpec defines where metrics are read or a plug-in is asked, and how.
//
// +kubebuilder:validation:XValidation:rule="!has(self.prometheus) || self.type in ['Prometheus', 'HoloInsight']",message="prometheus is for the types Prometheus and HoloInsight only"
// +kubebuilder:validation:XValidation:rule="(self.auth.type == 'AccessKey') == (self.type == 'HoloInsight')",message="auth.type AccessKey is for type HoloInsight only, which needs it"
// +kubebuilder:validation:XValidation:rule="!has(self.signing) || self.type == 'HTTP'",message="signing is for type HTTP only"
// +kubebuilder:validation:XValidation:rule="!has(self.tls) || self.url.startsWith('https:')",message="tls is for https only"
type VerificationSourceSpec struct {
	// type is the API of the source: Prometheus, HoloInsight, or HTTP for a plug-in.
	Type SourceType `json:"type"`
	// url is the address of the source, such as http://prometheus.monitoring:9090, with the path before /api/v1 if there is one, or that before
	// /webapi of HoloInsight; that of a plug-in is where it is asked. The operator follows no redirects, uses no proxy, and connects to no
	// loopback, link-local or metadata address unless --source-allow-cidr has it.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="isURL(self) && self.matches('^https?://[^/?#@]+(/[^?#@]*)?$')",message="url is http or https, with a host, and without user info, query and fragment: credentials belong into auth"
	URL string `json:"url"`
	// tls is how the certificate of the source is checked, and by which one the operator authenticates.
	// +optional
	TLS *SourceTLS `json:"tls,omitempty"`
	// auth is how the operator authenticates. Its Secrets are read in the namespace of the operator only.
	// +kubebuilder:default={type: "None"}
	// +optional
	Auth SourceAuth `json:"auth,omitzero"`
	// signing is how requests to a plug-in are signed, so that it answers nobody else. Without it they are not.
	// +optional
	Signing *SourceSigning `json:"signing,omitempty"`
	// headers are sent with every query.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []SourceHeader `json:"headers,omitempty"`
	// limits protect the source and the operator.
	// +kubebuilder:default={}
	// +optional
	Limits SourceLimits `json:"limits,omitzero"`
	// allowedNamespaces selects the namespaces of the workloads about which the source is asked, by their labels; all of them by default.
	// +optional
	AllowedNamespaces *metav1.LabelSelector `json:"allowedNamespaces,omitempty"`
	// prometheus configures a source of the type Prometheus or HoloInsight.
	// +optional
	Prometheus *PrometheusSource `json:"prometheus,omitempty"`
}

// VerificationSourceStatus is the observed state of a source.
type VerificationSourceStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// conditions contains Ready, and WithinLimits.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// VerificationSource is where checks of VerificationPolicies read metrics, or a plug-in that they ask. Sources have an effect in the namespace of the operator only.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=verificationsources,singular=verificationsource,shortName=vsrc,categories=altershield
// +kubebuilder:printcolumn:name="TYPE",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="URL",type=string,JSONPath=`.spec.url`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
type VerificationSource struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines where metrics are read, and how.
	// +required
	Spec VerificationSourceSpec `json:"spec"`
	// status is the observed state of the source.
	// +optional
	Status VerificationSourceStatus `json:"status,omitzero"`
}

// VerificationSourceList is a list of VerificationSources.
//
// +kubebuilder:object:root=true
type VerificationSourceList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VerificationSource `json:"items"`
}
