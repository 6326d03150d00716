"""Operations over REST."""
