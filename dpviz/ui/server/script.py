"""The script that Streamlit runs for a session; the process for long work loads it, too, and needs nothing of it."""

if __name__ == "__main__":
    from dpviz.navigation import run

    run()
