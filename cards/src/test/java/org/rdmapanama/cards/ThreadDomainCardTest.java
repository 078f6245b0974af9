package org.rdmapanama.cards;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.rdmapanama.CompletionQueue;
import org.rdmapanama.CompletionQueueOptions;
import org.rdmapanama.Context;
import org.rdmapanama.MemoryRegion;
import org.rdmapanama.ParentDomain;
import org.rdmapanama.ParentDomainOptions;
import org.rdmapanama.ProtectionDomain;
import org.rdmapanama.QueuePair;
import org.rdmapanama.QueuePairOptions;
import org.rdmapanama.ThreadDomain;
import org.rdmapanama.VerbsArena;
import org.rdmapanama.address.Endpoint;
import org.rdmapanama.completion.CompletionOpcode;
import org.rdmapanama.memory.AccessFlag;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.Bound;
import org.rdmapanama.testing.Side;

/** Queue pairs in thread domains of libmlx5: each has a doorbell register of its own, and the driver takes no locks. */
@Tag("card")
class ThreadDomainCardTest {
    private static final int ROUNDS = 300;
    private static final int THREAD_DOMAINS = 600;

    private static ParentDomain domain(Context context) {
        ProtectionDomain plain = context.allocateProtectionDomain();
        ThreadDomain threadDomain = context.allocateThreadDomain();
        ParentDomain domain = plain.createParentDomain(new ParentDomainOptions().threadDomain(threadDomain));
        assertEquals(Optional.of(threadDomain), domain.threadDomain());
        return domain;
    }

    static Side side(VerbsArena arena, Context context, boolean direct) {
        return side(arena, domain(context), direct);
    }

    private static Side side(VerbsArena arena, ParentDomain domain, boolean direct) {
        CompletionQueue queue = domain.context()
                .createCompletionQueue(new CompletionQueueOptions(63)
                        .singleThreaded(true)
                        .parentDomain(domain)
                        .direct(direct));
        QueuePair queuePair = domain.createQueuePair(new QueuePairOptions(QueuePairType.RC, queue)
                .maxSendWorkRequests(16)
                .maxInlineData(200));
        assertEquals(direct || Boolean.getBoolean("org.rdmapanama.direct"), queuePair.isDirect());
        MemoryRegion region =
                domain.register(arena.allocate(4096, 4096), AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_WRITE);
        return new Side(arena, domain, null, queuePair, region, Bound.USUAL);
    }

    /** Small requests fill a register's half, which the driver copies them into; larger ones do not fit. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldSendInThreadDomains(boolean direct) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "mlx5_0");
            Side a = side(arena, context, direct);
            Side b = side(arena, context, direct);
            Endpoint ofA = a.queuePair.localEndpoint();
            a.queuePair.connect(b.queuePair.localEndpoint());
            b.queuePair.connect(ofA);
            for (int i = 0; i < ROUNDS; i++) {
                a.memory.set(ValueLayout.JAVA_LONG, 0, i);
                a.post(a.request(i, 0, 8 + i % 50).inline(i % 3 == 0).rdmaWrite(b.region.address(), b.region.rkey()));
                b.post(b.request(i, 8, 8).rdmaWrite(a.region.address() + 64, a.region.rkey()));
                a.await().is(CompletionOpcode.RDMA_WRITE, i);
                b.await().is(CompletionOpcode.RDMA_WRITE, i);
                assertEquals(i, b.memory.get(ValueLayout.JAVA_LONG, 0));
            }
            int register = Cards.given(a.queuePair.number()).register();
            assertNotEquals(-1, register);
            assertNotEquals(-1, Cards.given(b.queuePair.number()).register());
            assertNotEquals(register, Cards.given(b.queuePair.number()).register());
        }
    }

    /** Those outside have one each, as long as there are enough. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldShareTheRegisterOfAThreadDomain(boolean direct) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "mlx5_0");
            ParentDomain domain = domain(context);
            List<Side> sides = List.of(
                    side(arena, domain, direct), side(arena, domain, direct), side(arena, domain(context), direct));
            List<Integer> registers = new ArrayList<>();
            for (Side side : sides) {
                side.queuePair.connect(side.queuePair.localEndpoint());
                side.post(side.request(1, 0, 8).rdmaWrite(side.region.address() + 8, side.region.rkey()));
                side.await().is(CompletionOpcode.RDMA_WRITE, 1);
                // At once: another doorbell may take its place.
                registers.add(Cards.given(side.queuePair.number()).register());
            }
            assertFalse(registers.contains(-1), registers::toString);
            assertEquals(registers.get(0), registers.get(1), registers::toString);
            assertNotEquals(registers.get(0), registers.get(2), registers::toString);
        }
    }

    /** The card has fewer registers for thread domains than this makes, one after the other. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void shouldFreeTheRegisterOfAClosedThreadDomain(boolean direct) {
        try (VerbsArena arena = VerbsArena.ofConfined()) {
            Context context = Context.open(arena, "mlx5_0");
            for (int i = 0; i < THREAD_DOMAINS; i++) {
                Side side = side(arena, context, direct);
                ((ParentDomain) side.domain).threadDomain().orElseThrow().close();
                assertFalse(side.queuePair.isOpen());
                assertFalse(side.queue.isOpen());
                assertFalse(side.domain.isOpen());
            }
        }
    }
}
