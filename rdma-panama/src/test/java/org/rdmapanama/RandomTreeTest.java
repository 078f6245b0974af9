package org.rdmapanama;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Modifier;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class RandomTreeTest {
    /** One that is new must be made and closed with the others: see {@link RandomTree#KINDS}. */
    @Test
    void shouldKnowEveryKindOfObject() {
        Set<Class<?>> kinds = new HashSet<>(RandomTree.KINDS.keySet());
        kinds.add(Context.class);
        assertEquals(
                Api.classes().stream()
                        .filter(VerbsObject.class::isAssignableFrom)
                        .filter(type -> !Modifier.isAbstract(type.getModifiers()))
                        .collect(Collectors.toSet()),
                kinds);
    }
}
