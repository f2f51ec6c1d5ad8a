"""The entrance: `streamlit run app.py` serves dpviz with its security headers, or says what is missing."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from dpviz.ui.needs import missing

if problems := missing():
    sys.exit("\n".join(problems))

import streamlit as st
from starlette.middleware import Middleware
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dpviz.ui import ahead, asking, profile, ready
from dpviz.ui.headers import SecurityHeaders

if problem := profile.problem():
    sys.exit(problem)

app = st.App(
    "dpviz/ui/script.py",
    routes=[ahead.ROUTE, asking.ROUTE],
    middleware=[Middleware(SecurityHeaders), Middleware(profile.NoUploads)],
)

# Run as a script by a test there is no server around: show the pages directly.
if get_script_run_ctx(suppress_warning=True) is not None:
    from dpviz.ui.main import run

    run()
else:
    ready.make()
