package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.rdmapanama.completion.CompletionStatus;
import org.rdmapanama.device.NodeType;
import org.rdmapanama.device.PacketPacingCapabilities;
import org.rdmapanama.device.PortState;
import org.rdmapanama.device.Rate;
import org.rdmapanama.device.RssCapabilities;
import org.rdmapanama.device.TsoCapabilities;
import org.rdmapanama.event.AsyncEventType;
import org.rdmapanama.ffm.Shows;
import org.rdmapanama.queue.QueuePairType;
import org.rdmapanama.testing.CStructs;

/** Functions of {@code verbs.h} that only compute: what they return, and what their methods here do. */
class SameAsCTest {
    private static final List<QueuePairType> TYPES_WITH_A_BIT = Arrays.stream(QueuePairType.values())
            .filter(type -> type != QueuePairType.DRIVER)
            .toList();

    /** What C prints for each of some numbers {@code i}. */
    private static List<String> printed(String format, String expression, List<Integer> numbers) throws IOException {
        String list = numbers.stream().map(String::valueOf).collect(Collectors.joining(", "));
        return CStructs.run("""
                int main(void) {
                    int numbers[] = {%s};
                    for (int n = 0; n < sizeof numbers / sizeof *numbers; n++) {
                        int i = numbers[n];
                        printf("%s\\n", %s);
                    }
                    return 0;
                }
                """.formatted(list, format, expression), "-libverbs")
                .lines()
                .toList();
    }

    private static List<String> strings(IntStream numbers) {
        return numbers.mapToObj(String::valueOf).toList();
    }

    @Test
    @Shows({"ibv_rate_to_mult", "ibv_rate_to_mbps"})
    void shouldTellRates() throws Exception {
        List<Integer> codes = Arrays.stream(Rate.values()).map(Rate::code).toList();
        assertEquals(
                strings(Arrays.stream(Rate.values()).mapToInt(Rate::multiplier)),
                printed("%d", "ibv_rate_to_mult(i)", codes));
        assertEquals(
                strings(Arrays.stream(Rate.values()).mapToInt(Rate::megabitsPerSecond)),
                printed("%d", "ibv_rate_to_mbps(i)", codes));
    }

    @Test
    @Shows({"mult_to_ibv_rate", "mbps_to_ibv_rate"})
    void shouldFindRates() throws Exception {
        List<Integer> multipliers = IntStream.rangeClosed(-2, 500).boxed().toList();
        assertEquals(
                strings(multipliers.stream().mapToInt(m -> Rate.ofMultiplier(m).code())),
                printed("%d", "mult_to_ibv_rate(i)", multipliers));
        List<Integer> megabits = new ArrayList<>(List.of(-1, 0, 1, 2501, 100_000, Integer.MAX_VALUE));
        for (Rate rate : Rate.values()) {
            megabits.add(rate.megabitsPerSecond());
        }
        assertEquals(
                strings(megabits.stream()
                        .mapToInt(m -> Rate.ofMegabitsPerSecond(m).code())),
                printed("%d", "mbps_to_ibv_rate(i)", megabits));
    }

    @Test
    @Shows("ibv_is_qpt_supported")
    void shouldTellWhatQueuePairTypesAreSupported() throws Exception {
        for (int mask : new int[] {0, 1 << 4, 1 << 8 | 1 << 2, 0x7fffffff, -1}) {
            Set<QueuePairType> types = QueuePairType.ofMask(mask);
            TsoCapabilities tso = new TsoCapabilities(1, types);
            RssCapabilities rss = new RssCapabilities(types, 1, 1, Set.of(), Set.of());
            PacketPacingCapabilities pacing = new PacketPacingCapabilities(1, 2, types);
            List<String> supported = printed(
                    "%d",
                    "ibv_is_qpt_supported((uint32_t)" + mask + ", i)",
                    TYPES_WITH_A_BIT.stream().map(QueuePairType::code).toList());
            for (int i = 0; i < supported.size(); i++) {
                QueuePairType type = TYPES_WITH_A_BIT.get(i);
                boolean inC = supported.get(i).equals("1");
                assertEquals(inC, tso.supports(type), () -> "mask " + mask + ", " + type);
                assertEquals(inC, rss.supports(type));
                assertEquals(inC, pacing.supports(type));
            }
        }
    }

    /** Both have words for the same constants, each its own. */
    private static <E extends Enum<E>> void assertDescribed(
            String function, List<E> constants, List<Integer> codes, List<String> descriptions) throws IOException {
        List<String> inC = printed("%s", function + "(i)", codes);
        assertEquals(constants.size(), inC.size());
        assertFalse(inC.contains("unknown"), () -> function + " does not know all of " + constants + ": " + inC);
        assertEquals(constants.size(), Set.copyOf(descriptions).size(), () -> "not distinct: " + descriptions);
        for (String description : descriptions) {
            assertFalse(description.isBlank() || description.endsWith("."), description);
        }
    }

    private static <E extends Enum<E>> List<E> allBut(Class<E> type, Set<E> left) {
        EnumSet<E> constants = EnumSet.allOf(type);
        constants.removeAll(left);
        return List.copyOf(constants);
    }

    @Test
    @Shows({"ibv_node_type_str", "ibv_port_state_str", "ibv_event_type_str", "ibv_wc_status_str"})
    void shouldDescribeWhatCDescribes() throws Exception {
        List<NodeType> nodes = allBut(NodeType.class, Set.of(NodeType.UNKNOWN));
        assertDescribed(
                "ibv_node_type_str",
                nodes,
                nodes.stream().map(NodeType::code).toList(),
                nodes.stream().map(NodeType::description).toList());
        List<PortState> states = List.of(PortState.values());
        assertDescribed(
                "ibv_port_state_str",
                states,
                states.stream().map(PortState::code).toList(),
                states.stream().map(PortState::description).toList());
        List<AsyncEventType> events = allBut(AsyncEventType.class, Set.of(AsyncEventType.UNKNOWN));
        assertDescribed(
                "ibv_event_type_str",
                events,
                events.stream().map(AsyncEventType::code).toList(),
                events.stream().map(AsyncEventType::description).toList());
        List<CompletionStatus> statuses = List.of(CompletionStatus.values());
        assertDescribed(
                "ibv_wc_status_str",
                statuses,
                statuses.stream().map(CompletionStatus::code).toList(),
                statuses.stream().map(CompletionStatus::description).toList());
    }

    @Test
    void shouldDescribeWhatIsNotKnown() {
        for (String description : List.of(NodeType.UNKNOWN.description(), AsyncEventType.UNKNOWN.description())) {
            assertFalse(description.isBlank());
        }
    }
}
