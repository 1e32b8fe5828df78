"""The real call in an entry point: what goes to MPI in place of the user's arguments, and how it is polled."""

from .roles import BLOCKING, IN, OUT, STRANGERS, WITHIN


def waits(f):
    return f.role in BLOCKING | WITHIN or f.name.startswith("Buffer_detach")


def before_real(f):
    yield "core_before_real(&call);"
    if waits(f):
        yield "within_take_over();"


def after_real(f):
    if waits(f):
        yield "within_give_back();"
    yield "core_after_real(&call);"


def within(role, call, strangers=False):
    """A call that is left to the MPI as a whole, and may wait for others."""
    begin = "within_begin_for_strangers();" if strangers else "within_begin();"
    return [begin, *call, "within_end();"] if role in WITHIN else call


def indent(lines):
    return ["    " + line for line in lines]


class Body:
    """The lines of one entry point."""

    def __init__(self, f):
        self.f = f
        self.replace = {}  # arguments of the real call
        self.cast = "" if f.suffix else "(int)"

    def triple(self, parcel, names):
        """The real call gets the parcel's buffer, count and datatype."""
        buf, count, datatype = names
        self.replace.update({buf: f"{parcel}.buf", count: f"{self.cast}{parcel}.count",
                             datatype: f"{parcel}.type"})

    def parcels(self):
        """Declarations of the parcels, and the condition under which the call is made."""
        f, ok = self.f, []
        replaces = f.name.startswith(("Sendrecv_replace", "Isendrecv_replace"))
        split = "sendbuf" in f.arguments
        if f.role in OUT:
            names = ("sendbuf", "sendcount", "sendtype") if split else ("buf", "count", "datatype")
            tag = "sendtag" if "sendtag" in f.arguments else "tag"
            make = "header_out_copy(" if replaces else f"header_out(HEADER_{OUT[f.role]}, "
            yield f"struct parcel out = {make}{', '.join(names)}, dest, {tag}, comm);"
            if replaces and f.role == "sendrecv":
                yield "if (out.wire == NULL && out.rc == MPI_SUCCESS && wait_polls())"
                yield f"    header_copy(&out, dest, {tag}, comm);"
            ok.append("out.rc == MPI_SUCCESS")
            self.out = names
        if f.role in IN:
            names = ("recvbuf", "recvcount", "recvtype") if split else ("buf", "count", "datatype")
            if "message" in f.arguments:
                call = f"header_in_matched(HEADER_{IN[f.role]}, {', '.join(names)}, message != NULL ? *message : MPI_MESSAGE_NULL)"
            else:
                tag = "recvtag" if "recvtag" in f.arguments else "tag"
                call = f"header_in(HEADER_{IN[f.role]}, {', '.join(names)}, source, {tag}, comm)"
            yield f"struct parcel in = {call};"
            ok.append("in.rc == MPI_SUCCESS")
            self.in_ = names
        if f.role in OUT and not replaces:
            self.triple("out", self.out)
        if f.role in IN and not replaces:
            self.triple("in", self.in_)
        self.ok = " && ".join(ok)

    def real(self):
        """The call itself, polled where that is called for."""
        f = self.f
        if f.name.startswith(("Sendrecv_replace", "Isendrecv_replace")):
            return self.replacing()
        direct = within(f.role, [f"rc = next->{f.name}({f.call(self.replace)});"], f.name in STRANGERS)
        if f.role == "collective":
            direct = [*self.expected_within(), *direct]
        polled = self.polled()
        if not polled:
            return direct
        test = f"wait_polls_collectives(comm){self.small()}" if f.role == "collective" else "wait_polls()"
        return [f"if ({test}) {{", *indent(polled), "} else {", *indent(direct), "}"]

    def amounts(self, out=True, in_=True):
        """Count and datatype of what may be moved piece by piece, and means something on every rank."""
        f, parts = self.f, []
        if f.role in OUT and out:
            parts.append(self.out[1:])
        if f.role in IN and in_:
            parts.append(self.in_[1:])
        if f.role == "part":
            parts.append(("(MPI_Count)partitions * count", "datatype"))
        if f.role in ("collective", "icollective"):
            everywhere = "allgather" in f.name.lower() or "alltoall" in f.name.lower()
            pair = ("recvcount", "recvtype") if everywhere else ("count", "datatype")
            parts += [pair] * (set(pair) <= set(f.arguments))
        return parts

    def small(self):
        """All ranks decide alike by what is the same on all of them, which no amount is among neighbours."""
        if self.f.name.startswith("Neighbor"):
            return ""
        return "".join(f" && wait_is_small(next, comm, {count}, {datatype}, {str(count != 'count').lower()})"
                       for count, datatype in self.amounts() if count in ("count", "recvcount"))

    def expects(self, **which):
        """What ranks that sleep while they wait are to know of. Of what the real call has found right."""
        return [f"wait_expects(next, {count}, {datatype});" for count, datatype in self.amounts(**which)]

    def within_one(self):
        """Between two groups a rank may have named what means nothing."""
        return " && peers_intra(comm)" if self.f.role == "icollective" else ""

    def expected(self):
        """The same after a call that only begins something."""
        lines = self.expects()
        sleeps = " && wait_blocks" if self.f.role == "icollective" else ""
        return [f"if (rc == MPI_SUCCESS{sleeps}{self.within_one()}) {{", *indent(lines), "}"] if lines else []

    def expected_within(self):
        """The same for a collective that is left to the MPI as a whole, before it begins."""
        lines = [f"wait_will_expect(next, {count}, {datatype});" for count, datatype in self.amounts()]
        return ["if (wait_blocks && peers_intra(comm)) {", *indent(lines), "}"] if lines else []

    def kept(self):
        """The same for each time that a persistent request is started."""
        lines = [f"wait_keeps(next, *request, {count}, {datatype});" for count, datatype in self.amounts()]
        return [f"if (rc == MPI_SUCCESS && wait_may_block(){self.within_one()})", *indent(lines)] if lines else []

    def both(self, call):
        """Arguments of Sendrecv and Isendrecv made of two parcels."""
        return (f"out.buf, {self.cast}out.count, out.type, dest, sendtag, in.buf, {self.cast}in.count, "
                f"in.type, source, recvtag, comm, {call}")

    def replacing(self):
        """The send part of a call with one buffer is a copy, where a header travels or the call is polled."""
        f = self.f
        name = f.name.replace("_replace", "")
        last = f.arguments[-1]
        if f.role == "isendrecv":
            made = [f"rc = next->{name}({self.both(last)});"]
        else:
            # MPICH 4.0 fails on elements of derived datatypes that lie across the fragments of a packed message.
            apart = "apart && (in.wire != NULL || wire_basic_size(datatype) != 0)"
            made = ["if (wait_polls()) {", *indent(self.polled_sendrecv(apart)), "} else {",
                    f"    rc = next->{name}({self.both(last)});", "}"]
        whole = [f"rc = next->{f.name}({f.call()});"]
        return ["if (out.wire != NULL) {", *indent(made), "} else {",
                *indent(whole if f.role == "isendrecv" else within("recv", whole)), "}"]

    def posted(self, arguments, count, datatype):
        """Open MPI's way to receive: by tests of a receive that is posted, which tell the communicator's error handler
        of all faults. Each look for a message would use up one of the 2^32 numbers that tell in which order receives were
        posted, and does not see that a peer has died."""
        return [f"rc = next->Irecv{self.f.suffix}({arguments}, &trial);",
                "if (rc == MPI_SUCCESS) {",
                f"    wait_expects(next, {count}, {datatype});",
                "    rc = wait_receive(next, &trial, status, comm, source);",
                "}"]

    def polled_receive(self):
        """MPICH's way waits for the message and then receives it. Faulty arguments are found before there is one, and
        a fault of the message is the blocking call's, which tells the user's error handler. That may call it a success:
        then there is no request."""
        arguments = self.f.call(self.replace, drop=("status",))
        amount = [self.replace.get(a, a) for a in ("count", "datatype")]
        return ["MPI_Request trial = MPI_REQUEST_NULL;",
                "#ifdef OPEN_MPI",
                *self.posted(arguments, *amount),
                "#else",
                f"rc = next->Recv_init{self.f.suffix}({arguments}, &trial);",
                "if (rc == MPI_SUCCESS && trial != MPI_REQUEST_NULL) {",
                *indent(self.message(arguments, "tag", *amount)),
                "}",
                "#endif"]

    def message(self, arguments, tag, count, datatype, apart="apart"):
        """What fits, and is large, is received by polls; the rest by the blocking call. Faults of a message that a
        poll completes would go to another error handler."""
        c = self.f.suffix
        return ["bool apart = false;",
                f"rc = wait_for_message(next, &trial, source, {tag}, comm, {count}, {datatype}, &apart);",
                f"if (rc == MPI_SUCCESS && {apart}) {{",
                f"    rc = next->Irecv{c}({arguments}, &trial);",
                "    if (rc == MPI_SUCCESS)",
                "        rc = wait_receive(next, &trial, status, comm, source);",
                "} else if (rc == MPI_SUCCESS) {",
                *indent(within("recv", [f"rc = next->Recv{c}({arguments}, status);"])),
                "}"]

    def polled_sendrecv(self, apart="apart"):
        """The same beside a nonblocking send, of which as much is known before."""
        c = self.f.suffix
        out = f"out.buf, {self.cast}out.count, out.type, dest, sendtag, comm"
        in_ = f"in.buf, {self.cast}in.count, in.type, source, recvtag, comm"
        return ["MPI_Request trial = MPI_REQUEST_NULL, send = MPI_REQUEST_NULL;",
                f"rc = next->Recv_init{c}({in_}, &trial);",
                "bool begun = rc == MPI_SUCCESS && trial != MPI_REQUEST_NULL;",
                "if (begun) {",
                f"    rc = next->Isend{c}({out}, &send);",
                "    begun = rc == MPI_SUCCESS && (send != MPI_REQUEST_NULL || dest == MPI_PROC_NULL);",
                "}",
                "if (begun) {", *indent(self.expects(in_=False)), "}",
                "doorbell_ring(peers_world_rank(comm, dest));",
                "if (begun) {",
                "#ifdef OPEN_MPI",
                "    next->Request_free(&trial);",
                *indent(self.posted(in_, "in.count", "in.type")),
                "#else",
                *indent(self.message(in_, "recvtag", "in.count", "in.type", apart)),
                "#endif",
                "}",
                "rc = wait_sent(next, rc, &trial, &send);",
                "if (send != MPI_REQUEST_NULL)", "    header_leave(&out, &send);"]

    def polled(self):
        """The body of a blocking call as polls, or None where it has none. What a poll completes, or
        finds at fault, is left to the blocking call wherever that can be."""
        f = self.f
        if f.role == "sendrecv":
            return self.polled_sendrecv()
        if f.role == "recv":
            return self.polled_receive()
        if f.twin is None:
            return None
        if f.role in ("send", "collective"):
            wait = ("wait_send(next, &request, comm, dest)" if f.role == "send"
                    else "wait_request(next, &request, MPI_STATUS_IGNORE, PEERS_UNKNOWN)")
            return ["MPI_Request request = MPI_REQUEST_NULL;",
                    f"rc = next->{f.twin}({f.call(self.replace, add=('&request',))});",
                    "if (rc == MPI_SUCCESS) {", *indent(self.expects()), f"    rc = {wait};", "}"]
        arguments = [self.replace.get(a, a) for a in f.arguments]
        if f.role == "waitall":
            direct = within(f.role, [f"rc = next->{f.name}({f.call(self.replace)});"])
            return [f"if (!wait_for_all(next, {', '.join(arguments)}, &rc)) {{", *indent(direct), "}"]
        first = "wait_new()" if f.role == "wait" else "wait_new_looking_first(PEERS_UNKNOWN)"
        lines, unfinished = [f"struct wait wait = {first};"], "found == 0"
        if f.role != "waitsome":
            at = {"probe": 3, "mprobe": 3, "wait": 1, "waitany": 3}[f.role]
            arguments.insert(at, "&flag")
            lines.append("int flag = 0;")
            unfinished = "!flag"
        probes = f.role in ("probe", "mprobe")
        told = "found" if f.role == "waitsome" else "flag"
        loop = [f"while (({told} = WAIT_UNTOLD, rc = next->{f.twin}({', '.join(arguments)})) == MPI_SUCCESS && {unfinished}) {{",
                *(["    wait_progress();"] if probes else []), "    wait_pause(&wait);", "}"]
        direct = f"rc = next->{f.name}({f.call(self.replace)});"
        if probes:
            return [*lines, "if (wait_can_probe(next, source, tag, comm, &rc)) {", *indent(loop), "}"]
        if f.role == "waitany":  # MPICH's MPI_Testany leaves the status alone when there is nothing
            loop += ["if (rc == MPI_SUCCESS && *index == MPI_UNDEFINED)", "    " + direct]
            loop = [f"if (!wait_for_any(next, {f.call(self.replace)}, &rc)) {{", *indent(loop), "}"]
        return lines + loop

    def after_parcels(self):
        f = self.f
        request = "request" if f.role in ("isend", "send_init", "irecv", "recv_init", "isendrecv",
                                          "imrecv") else None
        if request:
            out = "&out" if f.role in OUT else "NULL"
            in_ = "&in" if f.role in IN else "NULL"
            yield f"header_keep({out}, {in_}, rc, {request});"
            return
        if f.role in OUT:
            yield "header_sent(&out);"
        if f.role in IN:
            yield "header_received(&in, rc, status);"
