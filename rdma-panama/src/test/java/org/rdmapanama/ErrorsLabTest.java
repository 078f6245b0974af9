package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.lang.foreign.ValueLayout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.rdmapanama.address.AddressVector;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.address.Gid;
import org.rdmapanama.address.GidEntry;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.DeviceAttributes;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairState;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Commands;
import org.rdmapanama.testing.Completion;
import org.rdmapanama.testing.ConnectedPair;
import org.rdmapanama.testing.DummyDevice;
import org.rdmapanama.testing.LabDevices;

/** What goes wrong is told: in the completion, or in an exception that names the cause and the cure. */
@Tag("lab")
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class ErrorsLabTest {
    private static void assertContains(String text, String part) {
        assertTrue(text.contains(part), () -> "no '" + part + "' in: " + text);
    }

    @Test
    void shouldReportABadRemoteKey() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.postReceive(9, 0, 8);
            SendWorkRequest bad =
                    pair.a.request(1, 0, 8).rdmaWrite(pair.b.region.address(), pair.b.region.rkey() ^ 0xff00);
            pair.a.post(bad.next(
                    pair.writeToB(2, 0, 8).next(pair.a.request(3, 0, 8).send().signaled(false))));

            List<Completion> completions = pair.a.await(3);
            assertEquals(CompletionStatus.REM_ACCESS_ERR, completions.get(0).status());
            assertEquals(1, completions.get(0).id());
            assertEquals(pair.a.queuePair.number(), completions.get(0).queuePair());
            for (int i = 1; i < 3; i++) {
                assertEquals(CompletionStatus.WR_FLUSH_ERR, completions.get(i).status(), "also the unsignaled one");
            }
            pair.a.awaitState(QueuePairState.ERR);
            pair.b.awaitState(QueuePairState.ERR);
            assertEquals(CompletionStatus.WR_FLUSH_ERR, pair.b.await().status());
        }
    }

    @Test
    void shouldReportAWriteBeyondTheRegion() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            long behind = pair.b.region.address() + pair.b.region.byteSize() - 4;
            pair.a.post(pair.a.request(1, 0, 8).rdmaWrite(behind, pair.b.region.rkey()));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());
        }
    }

    @Test
    void shouldReportARegionWithoutRemoteAccess() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemoryRegion readable =
                    pair.b.domain.register(pair.b.memory, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
            pair.a.post(pair.a.request(1, 0, 8).rdmaWrite(readable.address(), readable.rkey()));
            assertEquals(CompletionStatus.REM_ACCESS_ERR, pair.a.await().status());
        }
    }

    @Test
    void shouldReportAQueuePairWithoutRemoteAccess() {
        ConnectOptions readsOnly = LabDevices.connectOptions().remoteAccess(AccessFlag.REMOTE_READ);
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).connectB(readsOnly).open()) {
            pair.a.post(pair.readFromB(1, 0, 8));
            pair.a.await().is(CompletionOpcode.RDMA_READ, 1);
            pair.a.post(pair.writeToB(2, 0, 8));
            assertEquals(CompletionStatus.REM_INV_REQ_ERR, pair.a.await().status());
        }
    }

    @Test
    void shouldReportLocalMemoryThatMayNotBeWritten() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            MemoryRegion readOnly = pair.a.domain.register(pair.a.memory);
            SendWorkRequest read = pair.a
                    .request(1, 0, 0)
                    .rdmaRead(pair.b.region.address(), pair.b.region.rkey())
                    .add(readOnly, 0, 8);
            pair.a.post(read);
            Completion completion = pair.a.await();
            assertEquals(CompletionStatus.LOC_PROT_ERR, completion.status(), completion.text());
        }
    }

    @Test
    void shouldReportAClosedRegion() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            // The key stays in the work request after the region has gone.
            SendWorkRequest write = pair.writeToB(1, 0, 8);
            pair.a.region.close();
            pair.a.post(write);
            // Soft-RoCE calls it the latter.
            assertOneOf(
                    Set.of(CompletionStatus.LOC_PROT_ERR, CompletionStatus.LOC_QP_OP_ERR),
                    pair.a.await().status());
        }
    }

    @Test
    void shouldReportAReceiveThatIsTooSmall() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            pair.b.postReceive(2, 0, 99);
            pair.a.post(pair.a.request(1, 0, 100).send());

            assertOneOf(
                    Set.of(CompletionStatus.REM_OP_ERR, CompletionStatus.REM_INV_REQ_ERR),
                    pair.a.await().status());
            assertOneOf(
                    Set.of(CompletionStatus.LOC_QP_OP_ERR, CompletionStatus.LOC_LEN_ERR),
                    pair.b.await().status());
            pair.b.awaitState(QueuePairState.ERR);
        }
    }

    private static void assertOneOf(Set<CompletionStatus> expected, CompletionStatus actual) {
        assertTrue(expected.contains(actual), () -> actual + " is none of " + expected);
    }

    @Test
    void shouldReportAPeerThatIsNotReady() {
        ConnectOptions impatient = LabDevices.connectOptions().rnrRetry(2);
        ConnectOptions quick = LabDevices.connectOptions().minRnrTimer(1);
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .connectA(impatient)
                .connectB(quick)
                .open()) {
            pair.a.post(pair.a.request(1, 0, 8).send());
            assertEquals(CompletionStatus.RNR_RETRY_EXC_ERR, pair.a.await().status());
        }
    }

    @Test
    void shouldReportAPeerThatIsGone() {
        ConnectOptions impatient = LabDevices.connectOptions().timeout(10).retryCount(1);
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).connectA(impatient).open()) {
            pair.b.context.close();
            pair.a.post(pair.a.request(1, 0, 8).send());
            Completion completion = pair.a.await();
            assertEquals(CompletionStatus.RETRY_EXC_ERR, completion.status());
            assertContains(completion.text(), "RETRY_EXC_ERR");
            assertContains(
                    completion.text(),
                    "on queue pair 0x%06x to queue pair 0x%06x at "
                            .formatted(pair.a.queuePair.number(), pair.b.queuePair.number()));
            assertContains(completion.text(), ", work request 1; check that the peer's process runs");
        }
    }

    @Test
    void shouldRefuseAMisalignedAtomic() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            LabDevices.assumeOurs("hardware reports it in the completion");
            SendWorkRequest atomic =
                    pair.a.request(3, 0, 8).fetchAndAdd(pair.b.region.address() + 4, pair.b.region.rkey(), 1);
            SendWorkRequest chain = pair.writeToB(1, 0, 8).next(atomic);

            VerbsException exception = assertThrows(VerbsException.class, () -> pair.a.queuePair.postSend(chain));
            assertEquals("ibv_post_send", exception.verb());
            assertEquals("EINVAL", exception.errnoName());
            assertContains(exception.getMessage(), "alignment");
            assertEquals(atomic, pair.a.queuePair.firstNotSent(chain));
            // What came before in the chain was posted.
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
        }
    }

    @Test
    void shouldRefuseTooManySegments() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            int tooMany = pair.a.queuePair.capabilities().maxSendSegments() + 1;
            SendWorkRequest write = SendWorkRequest.allocate(pair.a.arena, tooMany)
                    .rdmaWrite(pair.b.region.address(), pair.b.region.rkey());
            ReceiveWorkRequest receive = ReceiveWorkRequest.allocate(pair.a.arena, tooMany);
            for (int i = 0; i < tooMany; i++) {
                write.add(pair.a.region, i, 1);
                receive.add(pair.a.region, i, 1);
            }
            // Also where it hides behind another.
            SendWorkRequest chain = pair.writeToB(1, 0, 8).next(write);
            assertContains(refusedAtPosting(() -> pair.a.queuePair.postSend(chain)), tooMany + " segments");
            assertContains(refusedAtPosting(() -> pair.a.queuePair.postReceive(receive)), tooMany + " segments");
        }
    }

    /** Chains are looked at once, and then when something in them has changed. */
    @Test
    void shouldLookAtAChainAgainWhenItChanges() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.RC).inline(32).queues(64, 64).open()) {
            QueuePair queuePair = pair.a.queuePair;
            int segments = queuePair.capabilities().maxSendSegments();
            int inline = queuePair.capabilities().maxInlineData();
            SendWorkRequest last = SendWorkRequest.allocate(pair.a.arena, segments + 1)
                    .rdmaWrite(pair.b.region.address(), pair.b.region.rkey());
            for (int i = 0; i < segments; i++) {
                last.add(pair.a.region, i, 1);
            }
            SendWorkRequest middle = pair.writeToB(2, 0, 8).next(last);
            SendWorkRequest first = pair.writeToB(1, 0, 8).next(middle);
            queuePair.postSend(first);
            queuePair.postSend(first);

            last.add(pair.a.region, 0, 1);
            assertContains(refusedAtPosting(() -> queuePair.postSend(first)), segments + 1 + " segments");
            last.clear();
            queuePair.postSend(first);

            middle.inline(true);
            queuePair.postSend(first);
            middle.set(0, pair.a.region, 0, inline + 1);
            assertContains(refusedAtPosting(() -> queuePair.postSend(first)), "maxInlineData");
            middle.inline(false);
            queuePair.postSend(first);

            SendWorkRequest large = pair.writeToB(4, 0, inline + 1).inline(true);
            last.next(large);
            assertContains(refusedAtPosting(() -> queuePair.postSend(first)), "maxInlineData");
            last.next(null);
            queuePair.postSend(first);
        }
    }

    @Test
    void shouldLookAtAChainOfReceivesAgainWhenItChanges() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            QueuePair queuePair = pair.a.queuePair;
            int segments = queuePair.capabilities().maxReceiveSegments();
            ReceiveWorkRequest last = ReceiveWorkRequest.allocate(pair.a.arena, segments + 1);
            for (int i = 0; i < segments; i++) {
                last.add(pair.a.region, i, 1);
            }
            ReceiveWorkRequest first = ReceiveWorkRequest.allocate(pair.a.arena, 1)
                    .add(pair.a.region, 0, 8)
                    .next(last);
            queuePair.postReceive(first);
            last.add(pair.a.region, 0, 1);
            assertContains(refusedAtPosting(() -> queuePair.postReceive(first)), segments + 1 + " segments");
            last.clear();
            queuePair.postReceive(first);
        }
    }

    @Test
    void shouldRefuseTooMuchInlineData() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC).inline(32).open()) {
            int tooMuch = pair.a.queuePair.capabilities().maxInlineData() + 1;
            SendWorkRequest write = pair.writeToB(1, 0, tooMuch).inline(true);
            assertContains(refusedAtPosting(() -> pair.a.queuePair.postSend(write)), "maxInlineData");
            write.set(0, pair.a.region, 0, tooMuch - 1);
            pair.a.post(write);
            pair.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
            write.set(0, pair.a.region, 0, tooMuch);
            assertContains(refusedAtPosting(() -> pair.a.queuePair.postSend(write)), "maxInlineData");
        }
    }

    /** A request that one queue pair has taken may be too large for another one. */
    @Test
    void shouldLookAtARequestAgainForAnotherQueuePair() {
        try (VerbsArena arena = VerbsArena.ofConfined();
                ConnectedPair large =
                        ConnectedPair.of(QueuePairType.RC).in(arena).segments(8).open();
                ConnectedPair small =
                        ConnectedPair.of(QueuePairType.RC).in(arena).segments(1).open()) {
            int most = small.a.queuePair.capabilities().maxSendSegments();
            assumeTrue(
                    large.a.queuePair.capabilities().maxSendSegments() > most, "the device grants more than asked for");
            SendWorkRequest write = SendWorkRequest.allocate(arena, most + 1)
                    .rdmaWrite(large.b.region.address(), large.b.region.rkey())
                    .id(1)
                    .signaled(true);
            for (int i = 0; i <= most; i++) {
                write.add(large.a.region, i, 1);
            }
            for (int i = 0; i < 2; i++) {
                large.a.post(write);
                large.a.await().is(CompletionOpcode.RDMA_WRITE, 1);
                assertContains(refusedAtPosting(() -> small.a.queuePair.postSend(write)), most + 1 + " segments");
            }
        }
    }

    private static String refusedAtPosting(Executable post) {
        return assertThrows(IllegalArgumentException.class, post).getMessage();
    }

    @Test
    void shouldRefuseSendsBeforeConnecting() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            CompletionQueue queue = context.createCompletionQueue(8);
            QueuePair queuePair =
                    context.allocateProtectionDomain().createQueuePair(new QueuePairOptions(QueuePairType.RC, queue));
            SendWorkRequest send = SendWorkRequest.allocate(arena, 0);
            IllegalStateException exception = assertThrows(IllegalStateException.class, () -> queuePair.postSend(send));
            assertContains(exception.getMessage(), "in state RESET");
            assertContains(exception.getMessage(), "connect or activate it first");
        }
    }

    @Test
    void shouldRefuseDatagramsWithoutAnAddress() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            SendWorkRequest nowhere = pair.a.request(1, 0, 8).send();
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.postSend(nowhere));
            assertContains(exception.getMessage(), "address handle");
        }
    }

    @Test
    void shouldRefuseAClosedAddressHandle() {
        try (ConnectedPair pair =
                ConnectedPair.of(QueuePairType.UD).in(VerbsArena.ofShared()).open()) {
            Endpoint peer = pair.b.queuePair.localEndpoint();
            AddressHandle way = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
            AddressHandle closed = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
            SendWorkRequest toClosed = pair.a.request(2, 0, 8).to(closed, peer.queuePairNumber(), 0x1111_1111);
            SendWorkRequest chain = pair.a
                    .request(1, 0, 8)
                    .to(way, peer.queuePairNumber(), 0x1111_1111)
                    .next(toClosed);
            closed.close();
            assertThrows(IllegalStateException.class, () -> pair.a.queuePair.postSend(chain));
            // The other handle must not be left in use: closing it would wait for ever.
            way.close();
        }
    }

    @Test
    void shouldNameTheFilledGids() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            IllegalArgumentException exception =
                    assertThrows(IllegalArgumentException.class, () -> context.gid(1, 200));
            assertContains(exception.getMessage(), "GID index 200 of port 1");
            for (GidEntry entry : context.queryGidTable()) {
                assertContains(exception.getMessage(), entry.index() + " " + entry.gid() + " " + entry.type());
            }
            QueuePair queuePair = context.allocateProtectionDomain()
                    .createQueuePair(new QueuePairOptions(QueuePairType.RC, context.createCompletionQueue(1)));
            ConnectOptions wrong = new ConnectOptions().gidIndex(200);
            assertThrows(IllegalArgumentException.class, () -> queuePair.localEndpoint(wrong));
        }
    }

    @Test
    void shouldNameThePorts() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            int ports = context.queryDevice().physicalPorts();
            for (int wrong : List.of(0, -1, ports + 1, 256)) {
                IllegalArgumentException exception =
                        assertThrows(IllegalArgumentException.class, () -> context.queryPort(wrong));
                assertContains(exception.getMessage(), "must be between 1 and " + ports + ": " + wrong);
            }
        }
    }

    @Test
    void shouldNameTheCureWhenThePortIsDown() throws Exception {
        try (DummyDevice dummy = DummyDevice.add();
                VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, dummy.device());
            QueuePair queuePair = context.allocateProtectionDomain()
                    .createQueuePair(new QueuePairOptions(QueuePairType.RC, context.createCompletionQueue(1)));
            dummy.down();
            assertFalse(context.queryPort(1).isUp());
            VerbsException exception = assertThrows(VerbsException.class, queuePair::localEndpoint);
            assertEquals("ENETDOWN", exception.errnoName());
            assertContains(exception.cure(), "ip link set");
        }
    }

    @Test
    void shouldNameTheCureWhenAHostDoesNotAnswer() {
        LabDevices.assumeSoftRoce("which addresses answer is known in the lab only");
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            ProtectionDomain domain = context.allocateProtectionDomain();
            // On the subnet of rxe0, where nobody has this address.
            Gid nobody = new Gid(0, 0xffff_0a4d_0063L);
            int own = context.preferredGid(1).orElseThrow().index();
            VerbsException exception = assertThrows(
                    VerbsException.class, () -> domain.createAddressHandle(AddressVector.toGid(1, own, nobody)));
            assertEquals("ibv_create_ah", exception.verb());
            assertEquals("ETIMEDOUT", exception.errnoName());
            assertContains(exception.cure(), "no host answers at " + nobody);
        }
    }

    @Test
    void shouldNameTheLargestCompletionQueue() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            int max = context.queryDevice().maxCompletionQueueEntries();
            VerbsException exception = assertThrows(VerbsException.class, () -> context.createCompletionQueue(max + 1));
            assertContains(exception.getMessage(), "at most " + max + " entries");
            assertThrows(IllegalArgumentException.class, () -> context.createCompletionQueue(0));
        }
    }

    @Test
    void shouldNameTheLargestQueuePair() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, LabDevices.first());
            DeviceAttributes device = context.queryDevice();
            QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, context.createCompletionQueue(1))
                    .maxSendWorkRequests(device.maxWorkRequests() + 1);
            ProtectionDomain domain = context.allocateProtectionDomain();
            VerbsException exception = assertThrows(VerbsException.class, () -> domain.createQueuePair(options));
            assertContains(exception.getMessage(), device.maxWorkRequests() + " work requests");
        }
    }

    @Test
    void shouldListTheDevicesWhenANameIsUnknown() {
        DeviceList devices = DeviceList.query();
        VerbsException exception = assertThrows(VerbsException.class, () -> devices.byName("nothing0"));
        assertContains(exception.getMessage(), "device 'nothing0'");
        for (Device device : devices) {
            assertContains(exception.getMessage(), device.name());
        }
    }

    @Test
    void shouldNameTheDeviceFileThatMayNotBeOpened() throws Exception {
        LabDevices.assumeSoftRoce("the test takes the rights to its file away");
        Path file =
                Path.of("/dev/infiniband", LabDevices.first().providerDevice().deviceFile());
        Set<PosixFilePermission> permissions = Files.getPosixFilePermissions(file);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("---------"));
        try {
            // Root may open it all the same, unless it gives that right away.
            Commands.Result result = Commands.java(
                    List.of("setpriv", "--bounding-set", "-dac_override,-dac_read_search"),
                    LabChild.class,
                    "register",
                    "4096");
            assertContains(result.output(), "EACCES");
            assertContains(result.output(), file.toString());
        } finally {
            Files.setPosixFilePermissions(file, permissions);
        }
    }

    @Test
    void shouldNameTheLimitOfLockedMemory() throws Exception {
        LabDevices.assumeSoftRoce("lowering the limit needs root");
        // CAP_IPC_LOCK, which root has, lifts the limit.
        Commands.Result result = Commands.java(
                List.of("prlimit", "--memlock=1048576:1048576", "setpriv", "--bounding-set", "-ipc_lock"),
                LabChild.class,
                "register",
                Long.toString(4L << 20));
        assertContains(result.output(), "ENOMEM");
        assertContains(result.output(), "RLIMIT_MEMLOCK");
        assertContains(result.output(), "1048576 bytes");
        assertContains(result.output(), "ulimit -l");
    }

    @Test
    void shouldRefuseObjectsOfOtherArenas() {
        try (ConnectedPair pair = ConnectedPair.of(QueuePairType.RC)
                .in(VerbsArena.ofConfined(), VerbsArena.ofConfined())
                .open()) {
            SendWorkRequest foreign = pair.b.request(1, 0, 8);
            assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.postSend(foreign));
            ReceiveWorkRequest foreignReceive = pair.b.receiveRequest(1, 0, 8);
            assertThrows(IllegalArgumentException.class, () -> pair.a.queuePair.postReceive(foreignReceive));
            WorkCompletions completions = new WorkCompletions(pair.b.arena, 1);
            assertThrows(IllegalArgumentException.class, () -> pair.a.queue.poll(completions));
            SendWorkRequest own = pair.a.request(1, 0, 8);
            assertThrows(IllegalArgumentException.class, () -> own.add(pair.b.region, 0, 8));
            assertThrows(IllegalArgumentException.class, () -> own.next(foreign));
        }
    }

    @Test
    void shouldRefuseObjectsOfOtherContexts() {
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.RC)) {
            QueuePairOptions options = new QueuePairOptions(QueuePairType.RC, pair.b.queue);
            assertThrows(IllegalArgumentException.class, () -> pair.a.domain.createQueuePair(options));
            assertThrows(
                    IllegalArgumentException.class, () -> pair.a.context.createCompletionQueue(1, pair.b.channel, 0));
        }
    }

    @Test
    void shouldRefuseARingOfWorkRequests() {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            SendWorkRequest first = SendWorkRequest.allocate(arena, 0);
            SendWorkRequest second = SendWorkRequest.allocate(arena, 0).next(first);
            assertThrows(IllegalArgumentException.class, () -> first.next(second));
            assertThrows(IllegalArgumentException.class, () -> first.next(first));
        }
    }

    @Test
    void shouldKeepReceivingAfterAnUnreliableMessageThatDoesNotFit() {
        // An unreliable receiver drops what does not fit; what follows must still arrive.
        try (ConnectedPair pair = ConnectedPair.open(QueuePairType.UD)) {
            Endpoint peer = pair.b.queuePair.localEndpoint();
            AddressHandle way = pair.a.domain.createAddressHandle(pair.a.queuePair.pathTo(peer));
            SendWorkRequest wrongKey = pair.a.request(1, 0, 8).to(way, peer.queuePairNumber(), 0x2222_2222);
            pair.b.postReceive(1, 0, 100);
            pair.a.post(wrongKey);
            pair.a.await().is(CompletionOpcode.SEND, 1);
            pair.a.memory.set(ValueLayout.JAVA_BYTE, 0, (byte) 33);
            pair.a.post(pair.a.request(2, 0, 9).to(way, peer.queuePairNumber(), 0x1111_1111));

            Completion received = pair.b.await().is(CompletionOpcode.RECV, 1);
            assertEquals(AddressHandle.GRH_BYTES + 9, received.byteLength(), "the one with the wrong Q_Key is dropped");
        }
    }
}
