import { render } from "preact";
import "./styles/tokens.css";
import "./styles/elements.css";
import "./styles/layout.css";
import "./styles/components.css";
import { startSession } from "./api/browser-login.ts";
import { App } from "./app/app.tsx";
import { applyTheme } from "./app/theme.ts";

applyTheme();
void startSession();
const place = document.getElementById("console");
if (place !== null) render(<App />, place);
