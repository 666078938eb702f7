import { render } from "preact";
import { get, takeKey } from "./api";
import { Frame } from "./components/frame";
import { listen } from "./live";
import { follow, route } from "./route";
import { Calendar } from "./screens/calendar";
import { Compare } from "./screens/compare";
import { Doctor } from "./screens/doctor";
import { Dora } from "./screens/dora";
import { First } from "./screens/first";
import { ReleasePage } from "./screens/release";
import { Settings } from "./screens/settings";
import { begin, dress, session } from "./settings";
import { t } from "./text";
import type { Session } from "./types";

function Page() {
  return <Frame><Screen /></Frame>;
}

function Screen() {
  const at = route.value;
  switch (at.screen) {
    case "first":
      return <First />;
    case "release":
      return <ReleasePage of={at} key={`${at.namespace}/${at.kind}/${at.name}`} />;
    case "compare":
      return <Compare of={at} from={at.from} to={at.to} />;
    case "calendar":
      return <Calendar />;
    case "dora":
      return <Dora />;
    case "settings":
      return <Settings />;
    case "doctor":
      return <Doctor />;
  }
  return <><h1 tabIndex={-1}>{t().unknown}</h1><p><a href="#/">{t().back}</a></p></>;
}

// namespace returns that of the session, which is asked for until the plugin answers.
async function namespace(): Promise<string> {
  if (session.peek() === undefined) {
    begin(await get<Session>("session", {}, AbortSignal.timeout(10_000)));
  }
  return session.peek()?.namespace ?? "";
}

takeKey();
follow();
dress();
render(<Page />, document.getElementById("page")!);
void listen(namespace);
