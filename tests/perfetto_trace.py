"""Reads traces as Perfetto does: messages by the field numbers of its interface, tracks, and slices from begin and end events.

Errors are: an unknown field, a value of another type, an event on an unknown track, an end without a begin,
and a time that goes backwards on a thread.
"""
import collections

from wire_format import message

# The used messages of protos/perfetto/trace/*.proto and protos/perfetto/trace/track_event/*.proto; for the format see wire_format.py.
CLOCK = {1: ("clock_id", int), 2: ("timestamp", int)}
NOTE = {6: ("string_value", str), 10: ("name", str)}
EVENT = {4: ("debug_annotations", [NOTE]), 9: ("type", int), 11: ("track_uuid", int), 22: ("categories", [str]), 23: ("name", str), 30: ("counter_value", int)}
TRACK = {1: ("uuid", int), 2: ("name", str), 3: ("process", {1: ("pid", int), 6: ("process_name", str)}),
         4: ("thread", {1: ("pid", int), 2: ("tid", int), 5: ("thread_name", str)}), 5: ("parent_uuid", int), 8: ("counter", {})}
PACKET = {6: ("clock_snapshot", {1: ("clocks", [CLOCK]), 2: ("primary_trace_clock", int)}), 8: ("timestamp", int), 10: ("trusted_packet_sequence_id", int),
          11: ("track_event", EVENT), 13: ("sequence_flags", int), 60: ("track_descriptor", TRACK)}
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4

Slice = collections.namedtuple("Slice", "track name start end depth notes")  # end: None if the trace has no end
Instant = collections.namedtuple("Instant", "track name time notes")


class Trace:
    def __init__(self, data):
        self.packets = message(data, {1: ("packet", [PACKET])}).get("packet", [])
        self.tracks, self.slices, self.instants, self.counters = {}, [], [], collections.defaultdict(list)
        assert all(packet["trusted_packet_sequence_id"] == 1 for packet in self.packets)
        assert self.packets[0]["sequence_flags"] == 1 and self.packets[0]["clock_snapshot"]["primary_trace_clock"] == 6
        self.clocks = {clock["clock_id"]: clock["timestamp"] for clock in self.packets[0]["clock_snapshot"]["clocks"]}
        self.open = collections.defaultdict(list)
        last = collections.defaultdict(int)
        for packet in self.packets:
            if "track_descriptor" in packet:
                track = packet["track_descriptor"]
                assert "parent_uuid" not in track or track["parent_uuid"] in self.tracks, track
                self.tracks[track["uuid"]] = track
            if "track_event" in packet:
                event, time = packet["track_event"], packet["timestamp"]
                uuid = event["track_uuid"]
                assert uuid in self.tracks, event
                assert time >= last[uuid], (event, time, last[uuid])
                last[uuid] = time
                self.event(event, time, uuid)
        for left in self.open.values():
            self.slices += [one._replace(end=None) for one in left]

    def event(self, event, time, uuid):
        notes = {note["name"]: note["string_value"] for note in event.get("debug_annotations", [])}
        assert ("counter" in self.tracks[uuid]) == (event["type"] == COUNTER), event
        if event["type"] == BEGIN:
            self.open[uuid].append(Slice(uuid, event["name"], time, None, len(self.open[uuid]), notes))
        elif event["type"] == END:
            begun = self.open[uuid].pop()
            self.slices.append(begun._replace(end=time, notes={**begun.notes, **notes}))
        elif event["type"] == INSTANT:
            self.instants.append(Instant(uuid, event["name"], time, notes))
        else:
            assert event["type"] == COUNTER, event
            self.counters[self.tracks[uuid]["name"]].append((time, event["counter_value"]))

    def threads(self):
        """Process, thread and name of each track."""
        return {uuid: tuple(track["thread"].values()) for uuid, track in self.tracks.items() if "thread" in track}

    def parent(self, child):
        """The slice that contains this slice."""
        around = [one for one in self.slices if one.track == child.track and one.depth == child.depth - 1 and one.start <= child.start and
                  (one.end is None or child.end is not None and child.end <= one.end)]
        return around[-1] if around else None
