package org.rdmapanama.cards;

import org.junit.platform.launcher.LauncherSession;
import org.junit.platform.launcher.LauncherSessionListener;

/**
 * Puts a card into this process before the first test, if the system property {@code org.rdmapanama.card} names one, as
 * {@code lab/integration-tests --card} does.
 */
public final class CardSession implements LauncherSessionListener {
    @Override
    public void launcherSessionOpened(LauncherSession session) {
        String card = System.getProperty("org.rdmapanama.card");
        if (card != null) {
            Cards.insert(card);
        }
    }
}
