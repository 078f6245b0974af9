package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.rdmapanama.queue.QueuePairAttributes;
import org.rdmapanama.queue.QueuePairState;

/** Objects say what they are, and numbers of queue pairs have one notation: hexadecimal, with six digits. */
class ToStringTest {
    private static boolean hasInstances(Class<?> type) {
        return !type.isInterface()
                && Arrays.stream(type.getMethods())
                        .anyMatch(method -> method.getDeclaringClass() != Object.class
                                && !Modifier.isStatic(method.getModifiers()));
    }

    @Test
    void shouldHaveATextOfEachObject() throws NoSuchMethodException {
        List<String> without = new ArrayList<>();
        for (Class<?> type : Api.classes()) {
            if (hasInstances(type) && type.getMethod("toString").getDeclaringClass() == Object.class) {
                without.add(type.getName());
            }
        }
        assertEquals(List.of(), without);
    }

    @Test
    void shouldWriteNumbersOfQueuePairsInHexadecimal() {
        assertEquals(
                "STATE=RTR, QKEY=0x11111111, DEST_QPN=0x00001f",
                new QueuePairAttributes()
                        .destinationQueuePair(0x1f)
                        .qkey(0x11111111)
                        .state(QueuePairState.RTR)
                        .toString());
    }
}
