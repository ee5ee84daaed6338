"""One of several processes whose threads ask and tell: python tests/programs/threads.py STORAGE NAME THREADS."""

import sys
import threading

import shoestring as ss


def ask_and_tell(study, failures):
    try:
        while study.state != "finished":
            if (grant := study.ask()) is not None:
                study.tell(grant, [grant.config["x"] + 1 / step for step in range(grant.start + 1, grant.until + 1)])
    except BaseException as error:
        failures.append(error)


if __name__ == "__main__":
    study, failures = ss.Study.load(sys.argv[1], sys.argv[2]), []
    threads = [threading.Thread(target=ask_and_tell, args=(study, failures)) for _ in range(int(sys.argv[3]))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
