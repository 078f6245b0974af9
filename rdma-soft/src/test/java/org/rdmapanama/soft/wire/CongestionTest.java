package org.rdmapanama.soft.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CongestionTest {
    private static final String NAME = "the property";

    @Test
    void shouldReadSettings() {
        assertNull(Congestion.parse(NAME, "none"));
        assertEquals(new Congestion(50_000, 55_000, 1192L << 20), Congestion.parse(NAME, "dcqcn"));
        assertEquals(
                new Congestion(100_000, 300_000, 200L << 20),
                Congestion.parse(NAME, "dcqcn, pause=100,period = 300,line=200"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "true",
                "DCQCN",
                "dcqcn,",
                "dcqcn,pause",
                "dcqcn,pause=0",
                "dcqcn,pause=x",
                "dcqcn,pause=1000001",
                "dcqcn,line=-1",
                "dcqcn,line=1,line=1",
                "dcqcn,rate=1",
                "none,line=1"
            })
    void shouldRefuseOtherSettings(String text) {
        String message = assertThrows(IllegalArgumentException.class, () -> Congestion.parse(NAME, text))
                .getMessage();
        assertTrue(message.startsWith(NAME + " must be") && message.endsWith("'" + text + "'"), message);
    }
}
