// The kubectl line of each view.

import type { Reference, Route } from "./route";
import { session } from "./settings";

const tool = "kubectl altershield";

// quoted returns an argument as a POSIX shell takes it.
export function quoted(argument: string): string {
  return /^[\w./:=@%+,-]+$/.test(argument) ? argument : "'" + argument.replaceAll("'", `'\\''`) + "'";
}

function workload(of: Reference): string {
  return `${quoted(of.kind.toLowerCase() + "/" + of.name)} -n ${quoted(of.namespace)}`;
}

function scope(namespace: string): string {
  return namespace === "" ? "-A" : "-n " + quoted(namespace);
}

// here returns a line that asks the cluster of the page as its user: without these flags of the plugin it would ask another one, or as another user.
export function here(line: string): string {
  const { context, kubeconfig, as, asGroups = [] } = session.value ?? {};
  const given: [string, string | undefined][] = [["context", context], ["kubeconfig", kubeconfig], ["as", as], ...asGroups.map((group): [string, string] => ["as-group", group])];
  return line + given.map(([flag, value]) => (value ? ` --${flag} ${quoted(value)}` : "")).join("");
}

export function commandOf(route: Route, namespace: string): string {
  return here(viewOf(route, namespace));
}

function viewOf(route: Route, namespace: string): string {
  switch (route.screen) {
    case "release":
      return `${tool} status ${workload(route)}`;
    case "compare":
      return `${tool} diff ${quoted(route.kind.toLowerCase() + "/" + route.name)} ${quoted(route.from + ".." + route.to)} -n ${quoted(route.namespace)}`;
    case "calendar":
      return `${tool} freeze list ${scope(namespace)}`;
    case "dora":
      return `${tool} export ${scope(namespace)}`;
    case "settings":
    case "doctor":
      return `${tool} ${route.screen}`;
  }
  return `${tool} list ${scope(namespace)}`;
}

// actOf returns the line that does what a dialog asks for.
export function actOf(verb: string, of: Reference, fields: Record<string, string>, reason: string): string {
  return here(verbOf(verb, of, fields, reason));
}

function verbOf(verb: string, of: Reference, fields: Record<string, string>, reason: string): string {
  const why = reason === "" ? "" : ` --reason ${quoted(reason)}`;
  const inNamespace = `-n ${quoted(of.namespace)}`;
  switch (verb) {
    case "verdict":
      return `${tool} verdict ${quoted(fields.changePod ?? "")} ${fields.verdict ?? ""} ${inNamespace}${fields.pod ? " --pod " + quoted(fields.pod) : ""}${why}`;
    case "freeze-lock":
      return `${tool} freeze lock ${quoted(fields.lock ?? "")} ${of.name && quoted(of.kind.toLowerCase() + "/" + of.name) + " "}${inNamespace} --for ${quoted(fields.for ?? "")}${why}`;
    case "freeze-unlock":
      return `${tool} freeze unlock ${quoted(fields.lock ?? "")} ${inNamespace}`;
    case "go-on":
      return `${tool} go-on ${quoted(of.kind.toLowerCase() + "/" + of.name)} ${fields.step ? quoted(fields.step) + " " : ""}${inNamespace}${why}`;
    case "rollback":
      return `${tool} rollback ${workload(of)}${fields.to ? " --to " + quoted(fields.to) : ""}${why}`;
    case "break-glass":
      return `${tool} break-glass ${workload(of)} --override ${quoted(fields.override ?? "")}${fields.for ? " --for " + quoted(fields.for) : ""}${why}`;
  }
  return `${tool} ${verb} ${workload(of)}${why}`;
}
