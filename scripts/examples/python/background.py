"""Downloads files in the background, also after this program has ended.

python3 background.py PREFIX/bin/nightjar JOURNAL start ID URL FILE [ID URL FILE]...
python3 background.py PREFIX/bin/nightjar JOURNAL finish ID

The first command records the downloads and ends; a worker process performs them. The second command shows the progress of
one download and handles the ends of all. JOURNAL is a file; with None instead, nj_transfers_new uses the journal of the
user.
"""

import ctypes
import json
import sys
import time

from nightjar import NightjarError, lib, raise_owned

DONE, FAILED, CANCELLED, IN_DOUBT = range(3, 7)  # nj_transfer_state


class Transfer:
    """A copy of the fields of an nj_transfer, which is freed."""

    def __init__(self, handle):
        self.id = lib.nj_transfer_id(handle).decode()
        self.state = lib.nj_transfer_get_state(handle)
        self.path = lib.nj_transfer_path(handle).decode()
        self.transferred = lib.nj_transfer_transferred(handle)
        self.total = lib.nj_transfer_total(handle)
        self.rate = lib.nj_transfer_rate(handle)
        error = lib.nj_transfer_error(handle)
        self.error = NightjarError(error) if error else None
        lib.nj_transfer_free(handle)


class Transfers:
    """The background transfers of a journal, performed by `nightjar transferd`."""

    def __init__(self, nightjar, journal):
        self.handle = self._call(lib.nj_transfers_new, journal.encode(), nightjar.encode())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        lib.nj_transfers_free(self.handle)

    @staticmethod
    def _call(function, *arguments):
        error = ctypes.c_void_p()
        result = function(*arguments, ctypes.byref(error))
        if error:
            raise_owned(error)
        return result

    def start(self, id, **options):
        """Records a transfer. Returns the existing one if the journal has it already."""
        text = json.dumps(options).encode()
        return Transfer(self._call(lib.nj_transfers_start, self.handle, id.encode(), text, len(text)))

    def get(self, id):
        found = self._call(lib.nj_transfers_get, self.handle, id.encode())
        return Transfer(found) if found else None

    def wake(self):
        """Starts a worker if none runs."""
        self._call(lib.nj_transfers_wake, self.handle)

    def ended(self):
        """Yields each transfer of the journal when it has ended."""
        while found := self._call(lib.nj_transfers_next_ended, self.handle, 0.0):
            yield Transfer(found)

    def acknowledge(self, transfer):
        """Confirms that the end was processed. Without it, the next run returns the transfer again."""
        self._call(lib.nj_transfers_acknowledge, self.handle, transfer.id.encode())


def show(transfers, id):
    """Shows the progress of a transfer until it ends."""
    while transfer := transfers.get(id):
        total = f" of {transfer.total}" if transfer.total >= 0 else ""
        rate = f", {transfer.rate:.0f} bytes/s" if transfer.rate >= 0 else ""
        print(f"\r{id}: {transfer.transferred}{total} bytes{rate}   ", end="", file=sys.stderr, flush=True)
        if transfer.state >= DONE:
            print(file=sys.stderr)
            return
        time.sleep(0.2)
    sys.exit(f"there is no transfer {id}")


def finish(transfers):
    """Handles the ends of all transfers. Returns the exit status."""
    status = 0
    for transfer in transfers.ended():
        if transfer.state == DONE:
            print(f"{transfer.path}: {transfer.total} bytes")
        else:
            status = 1
            print(f"{transfer.id}:", transfer.error or "was cancelled, or its result is not known")
        transfers.acknowledge(transfer)
    return status


def main(nightjar, journal, command, *words):
    with Transfers(nightjar, journal) as transfers:
        if command == "start":
            for id, url, file in zip(words[::3], words[1::3], words[2::3]):
                print(f"{transfers.start(id, download=url, to=file).id}: continues in the background")
            return 0
        # If the worker was stopped, for example by a restart of the machine, the transfers continue from here.
        transfers.wake()
        show(transfers, words[0])
        return finish(transfers)


command, words = sys.argv[3:4], sys.argv[4:]
if not (command == ["start"] and words and len(words) % 3 == 0 or command == ["finish"] and len(words) == 1):
    sys.exit("usage: background.py NIGHTJAR JOURNAL start ID URL FILE [ID URL FILE]... | finish ID")
try:
    sys.exit(main(*sys.argv[1:]))
except NightjarError as error:
    sys.exit(str(error))
