import type { ComponentChildren } from "preact";
import { commandOf } from "../commands";
import { byWorkload, changed, connection, reconnect, ticked, type Connection } from "../live";
import { route } from "../route";
import { chosen, language, nextTheme, search, session, speak, theme, type Language } from "../settings";
import { shown } from "../text/safe";
import { t } from "../text";
import { recent, span } from "../time";
import { Copy, Mark } from "./basic";

const views = ["first", "calendar", "dora", "settings", "doctor"] as const;
const paths = { first: "#/", calendar: "#/calendar", dora: "#/dora", settings: "#/settings", doctor: "#/doctor" };

export function Frame({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>{t().skip}</a>
      <Header />
      <Banner />
      <main id="main" tabIndex={-1}>{children}</main>
      <footer><Copy line={commandOf(route.value, chosen.value)} /></footer>
      <Announcer />
    </>
  );
}

function Header() {
  const who = session.value;
  return (
    <header>
      <a class="brand" href="#/"><Shield />{t().title}</a>
      <nav aria-label={t().menu}>
        <ul>{views.map((view) => <li><a href={paths[view]} aria-current={route.value.screen === view ? "page" : undefined}>{t().nav[view]}</a></li>)}</ul>
      </nav>
      <div class="tools">
        <Namespaces />
        {route.value.screen === "first" &&
          <input type="search" aria-label={t().search} placeholder={t().searchHint} value={search.value} onInput={(event) => { search.value = event.currentTarget.value; }} />}
        <span class="languages" role="group" aria-label={t().language}>{tongue("zh", "中文")}{tongue("en", "English")}</span>
        <button class="theme" onClick={nextTheme} title={t().theme[theme.value]} aria-label={t().theme[theme.value]}><Moon /></button>
      </div>
      {who && (
        <p class="who">
          <span title={shown(who.server)}><span class="muted">{t().cluster} </span><bdi>{shown(who.cluster)}</bdi></span>
          <span><bdi>{shown(who.user)}</bdi>{who.readOnly && <span class="tag">{t().readOnly}</span>}</span>
        </p>
      )}
    </header>
  );
}

function tongue(of: Language, name: string) {
  return <button lang={of === "zh" ? "zh-CN" : "en"} aria-pressed={language.value === of} onClick={() => speak(of)}>{name}</button>;
}

function Namespaces() {
  const known = new Set([...byWorkload.value.values()].map((release) => release.namespace));
  if (chosen.value !== "") {
    known.add(chosen.value);
  }
  const fixed = session.value?.namespace ?? "";
  return (
    <label class="namespaces">
      <span>{t().namespace}</span>
      <select value={chosen.value} disabled={fixed !== ""} onChange={(event) => { chosen.value = event.currentTarget.value; }}>
        {fixed === "" && <option value="">{t().allNamespaces}</option>}
        {[...known].sort().map((name) => <option value={name}>{shown(name)}</option>)}
      </select>
    </label>
  );
}

function Shield() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <path class="shield" d="M16 2 4 6.5v8.8c0 7.3 5 12.4 12 14.7 7-2.3 12-7.4 12-14.7V6.5Z" /><path class="tick" d="m10 16 4.3 4.3L22.5 12" />
    </svg>
  );
}

function Moon() {
  return <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><circle class="sun" cx="8" cy="8" r="6" /><path class="dark" d="M8 2a6 6 0 0 1 0 12Z" /></svg>;
}

// unlet says why the plugin doesn't let the page in.
function unlet(link: Connection): string {
  switch (link.reason) {
    case "Unauthorized":
      return t().noKey;
    case "Spent":
      return t().spent;
    case "Expired":
      return t().expired;
  }
  return t().refused(shown(link.why ?? ""));
}

// Banner says that what is shown may be old. The time until the next attempt is no part of the alert, which would be read out again with each one.
function Banner() {
  const link = connection.value;
  if (link.state === "refused") {
    return <div class="banner" role="alert"><Mark shape="cross" tone="bad" /><span>{unlet(link)}</span>{link.reason === "Forbidden" && <button onClick={reconnect}>{t().retryNow}</button>}</div>;
  }
  if (link.state !== "stale") {
    return null;
  }
  const at = Math.max(Date.now(), ticked.value);
  const left = link.retry === undefined ? undefined : Math.max(0, link.retry - at) / 1000;
  return (
    <div class="banner stale">
      <Mark shape="note" tone="warn" />
      <span role="alert">{link.since === undefined ? t().staleNever : t().stale(recent(link.since, at))} {link.why && shown(link.why)}</span>
      {left !== undefined && <span>{t().retryIn(span(left))}</span>}
      {left !== undefined && <button onClick={reconnect}>{t().retryNow}</button>}
    </div>
  );
}

// Announcer tells users of screen readers about changes of state, and nothing else.
function Announcer() {
  const release = changed.value;
  return <div class="hidden" role="status" aria-live="polite">{release && t().announce(shown(release.namespace + "/" + release.workload), release.release, release.state)}</div>;
}
