"""The script that Streamlit runs for a session. The process for long work also loads it, but does not need it."""

if __name__ == "__main__":
    from dpviz.navigation import run

    run()
