"""Entry point: `streamlit run app.py` serves dpviz with its security headers, or reports missing parts."""

import sys
from importlib.resources import files
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from dpviz.ui.server.startup import missing

if problems := missing():
    sys.exit("\n".join(problems))

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.navigation import MIDDLEWARE, ROUTES, run
from dpviz.ui.server import lifecycle
from dpviz.ui.server.security import profile_problem

if problem := profile_problem():
    sys.exit(problem)

app = st.App(
    # Path of the script, wherever the package is installed.
    str(files("dpviz") / "ui" / "server" / "script.py"),
    routes=ROUTES,
    lifespan=lifecycle.lifespan,
    middleware=[Middleware(each) for each in MIDDLEWARE],
)

# A test runs this file as a script, without a server around it: show the pages directly.
if get_script_run_ctx(suppress_warning=True) is not None:
    run()
else:
    lifecycle.prepare()
